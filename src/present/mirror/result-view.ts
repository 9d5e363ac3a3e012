import {formatBytes} from '../../model/bytes.ts'
import type {MirrorItemResult, MirrorResult} from '../../model/mirror.ts'
import {layoutTable, printable} from '../table.ts'
import type {View, ViewOptions} from '../view.ts'

function extrasOf(item: MirrorItemResult): string {
  if (item.skippedExtras.length > 0) return `${item.extras.length} of ${item.extras.length + item.skippedExtras.length}`
  return String(item.extras.length)
}

function statusOf(item: MirrorItemResult): string {
  if (item.status === 'planned') return 'to copy'
  return item.status === 'unchanged' ? 'already there' : item.status
}

function digests(item: MirrorItemResult): string[] {
  const same = item.sourceDigest !== undefined && item.sourceDigest === item.targetDigest
  return [item.sourceDigest ?? '', same ? '=' : item.targetDigest === undefined ? '' : '!=', item.targetDigest ?? '']
}

function summaryLines({summary, dryRun, items, quotas}: MirrorResult): string[] {
  const verb = dryRun === 'none' ? 'moved' : 'to move'
  const moved =
    dryRun === 'client'
      ? 'nothing was asked of any registry'
      : `${formatBytes(summary.bytesMoved)} ${verb} in ${summary.blobsMoved} blobs, ${formatBytes(summary.bytesPresent)} there already (${summary.blobsMounted} mounted); ${summary.requests} requests`
  const details = items.flatMap((item) => [
    ...item.notes.map((note) => `note: ${item.source}: ${note}`),
    ...item.skippedExtras.map(({name, subject, reason}) => `left out: ${name} (of ${subject}): ${reason}`),
    ...(item.error === undefined
      ? []
      : [`error: ${item.error.message}`, ...item.error.hints.map((hint) => `  ${hint}`)]),
  ])
  const limits = (quotas ?? []).map(
    ({host, remaining, limit, windowSeconds, needed}) =>
      `${host} lets ${remaining}${limit === undefined ? '' : ` of ${limit}`} more manifests be read${windowSeconds === undefined ? '' : ` in ${Math.round(windowSeconds / 60)} min`}; this ${dryRun === 'none' ? 'copy read' : 'copy reads'} ${needed}`,
  )
  return [...details, moved, ...limits, `signatures: ${summary.signatures}`]
}

/** The table "source digest = target digest", and below it what a person has to know. */
export const mirrorResultView: View<MirrorResult> = {
  table(result: MirrorResult, options: ViewOptions): string {
    const headers = ['STATUS', 'SOURCE', 'SOURCE DIGEST', '', 'TARGET DIGEST', 'TARGET', 'SIZE', 'EXTRAS']
    const rows = result.items.map((item) => [
      statusOf(item),
      item.source.replace(/@sha(?:256|512):[0-9a-f]+$/, ''),
      ...digests(item),
      item.target,
      formatBytes(item.size),
      extrasOf(item),
    ])
    return `${layoutTable(headers, rows, options.headers)}\n${summaryLines(result).map(printable).join('\n')}\n`
  },
  name: (result) =>
    result.items.map((item) =>
      item.targetDigest === undefined ? item.target : `${item.target.replace(/:[^:/]+$/, '')}@${item.targetDigest}`,
    ),
}
