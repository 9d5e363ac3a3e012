import {formatBytes} from '../../model/bytes.ts'
import type {MirrorArchive, MirrorVerification} from '../../model/mirror.ts'
import type {MirrorPlan} from '../../model/mirror.ts'
import type {SrcipDocument} from '../../model/documents.ts'
import {layoutTable, printable} from '../table.ts'
import type {View} from '../view.ts'

function tagged(source: string, tag: string | undefined): string {
  return tag === undefined ? source : `${source}:${tag}`
}

/** A lock file for people; the file itself is `-o yaml`. */
export const mirrorPlanView: View<MirrorPlan & SrcipDocument> = {
  table(plan, options) {
    const rows = plan.items.map((item) => [
      item.role,
      tagged(item.source, item.tag),
      item.digest,
      formatBytes(item.size),
      item.platforms.map(({platform}) => platform).join(','),
      String(item.extras.length),
      ...(options.wide ? [item.foundIn.join('; ')] : []),
    ])
    const total = plan.items.reduce((sum, item) => sum + item.size, 0)
    const notes = plan.items.flatMap((item) =>
      item.notes.map((note) => `note: ${tagged(item.source, item.tag)}: ${note}`),
    )
    const headers = ['ROLE', 'SOURCE', 'DIGEST', 'SIZE', 'PLATFORMS', 'EXTRAS', ...(options.wide ? ['FOUND IN'] : [])]
    return `${layoutTable(headers, rows, options.headers)}\n${[...notes.map(printable), `${plan.items.length} items, ${formatBytes(total)}`].join('\n')}\n`
  },
  name: (plan) => plan.items.map((item) => `${item.source}@${item.digest}`),
}

export const mirrorArchiveView: View<MirrorArchive> = {
  table(archive, options) {
    const rows = archive.items.map((item) => [
      item.role,
      tagged(item.source, item.tag),
      item.digest,
      formatBytes(item.size),
      String(item.extras),
    ])
    const lines = [
      ...archive.problems.map((problem) => `problem: ${printable(problem)}`),
      `${archive.path}: ${archive.blobs} blobs, ${formatBytes(archive.size)}`,
      ...(archive.base === undefined
        ? []
        : [
            `delta: ${archive.base.blobs} blobs (${formatBytes(archive.base.size)}) are in ${printable(archive.base.name)}, which is imported first`,
          ]),
      ...archive.parts.map(({file, sha256}) => `${sha256}  ${file}`),
    ]
    return `${layoutTable(['ROLE', 'SOURCE', 'DIGEST', 'SIZE', 'EXTRAS'], rows, options.headers)}\n${lines.join('\n')}\n`
  },
  name: (archive) => archive.items.map((item) => `${item.source}@${item.digest}`),
}

export const mirrorVerificationView: View<MirrorVerification> = {
  table(result, options) {
    const rows = result.items.map((item) => [
      item.status,
      item.reference,
      item.digest ?? '',
      `${item.manifests} manifests, ${item.blobs} blobs`,
    ])
    const problems = result.items.flatMap((item) => item.problems.map((problem) => `${item.reference}: ${problem}`))
    const nodes = result.inCluster.nodes.map(
      ({node, runtime, status, reason}) =>
        `  ${node} (${runtime}): ${status}${reason === undefined ? '' : `: ${reason}`}`,
    )
    const lines = [...problems, `checked: ${result.depth}`, `in the cluster: ${result.inCluster.status}`, ...nodes]
    return `${layoutTable(['STATUS', 'REFERENCE', 'DIGEST', 'CHECKED'], rows, options.headers)}\n${lines.map(printable).join('\n')}\n`
  },
  name: (result) => result.items.map(({reference}) => reference),
}
