import {combineExitCodes, SrcipError} from '../../model/errors.ts'
import type {MirrorPlan} from '../../model/mirror.ts'
import type {RegistryClient} from '../client.ts'
import {planDocument} from '../plan/document.ts'
import {forEach, orderItems, planItem, type PlanOptions, type SourceOf, type Wanted} from '../plan/planner.ts'
import {formatReference} from '../reference.ts'

/** The same reference found in several places, once. */
export function mergeWanted(wanted: readonly Wanted[]): Wanted[] {
  const merged = new Map<string, Wanted>()
  for (const one of wanted) {
    const key = formatReference(one.reference)
    const before = merged.get(key)
    merged.set(
      key,
      before === undefined
        ? one
        : {
            reference: {...before.reference, chart: before.reference.chart || one.reference.chart},
            foundIn: [...new Set([...before.foundIn, ...one.foundIn])],
            notes: [...new Set([...(before.notes ?? []), ...(one.notes ?? [])])],
          },
    )
  }
  return [...merged.values()]
}

/**
 * Resolves everything to digests: the lock file. All that cannot be resolved is named, not only the first.
 * @throws SrcipError with the exit code that counts when something cannot be resolved
 */
export async function makePlan(
  client: RegistryClient,
  sourceOf: SourceOf,
  wanted: readonly Wanted[],
  warnings: readonly string[],
  options: PlanOptions,
): Promise<MirrorPlan> {
  const failures: SrcipError[] = []
  const planned = await forEach(mergeWanted(wanted), (one) =>
    planItem(client, sourceOf, one, options).catch((error: unknown) => {
      if (!(error instanceof SrcipError)) throw error
      failures.push(error)
      return undefined
    }),
  )
  if (failures.length > 0) throw joinFailures(failures)
  const items = orderItems(planned.flatMap((one) => (one === undefined ? [] : [one.item])))
  return planDocument(items, warnings)
}

/** One error for several: the exit code that counts, every message. */
export function joinFailures(failures: readonly SrcipError[]): SrcipError {
  const code = combineExitCodes(failures.map(({exitCode}) => exitCode))
  const first = failures.find(({exitCode}) => exitCode === code) ?? failures[0]
  if (first === undefined) return new SrcipError('Internal', 'no failure was given')
  if (failures.length === 1) return first
  const hints = [...new Set(failures.flatMap(({hints: all}) => all))]
  return new SrcipError(
    first.code,
    `${failures.length} references cannot be resolved:\n${failures.map(({message}) => `  ${message}`).join('\n')}`,
    {hints, cause: first},
  )
}

/** The plan's list for another tool; nothing of what only we know (extras) is lost silently: it is said in a comment. */
export function planFor(
  tool: 'regsync' | 'crane' | 'skopeo',
  plan: MirrorPlan,
  stringify: (value: unknown) => string,
): string {
  const comment = '# copies images and charts by digest; attached signatures and SBOMs need kubectl srcip mirror copy\n'
  if (tool === 'crane') {
    const lines = plan.items.map(
      (item) =>
        `crane copy ${item.source}@${item.digest} "$TARGET/${pathOf(item.source)}${item.tag === undefined ? `@${item.digest}` : `:${item.tag}`}"`,
    )
    return `#!/bin/sh\n${comment}set -eu\n: "\${TARGET:?host[/prefix] of the mirror}"\n${lines.join('\n')}\n`
  }
  if (tool === 'skopeo') {
    const lines = plan.items.map(
      (item) =>
        `skopeo copy --all --preserve-digests docker://${item.source}@${item.digest} "docker://$TARGET/${pathOf(item.source)}${item.tag === undefined ? `@${item.digest}` : `:${item.tag}`}"`,
    )
    return `#!/bin/sh\n${comment}set -eu\n: "\${TARGET:?host[/prefix] of the mirror}"\n${lines.join('\n')}\n`
  }
  const sync = plan.items.map((item) => ({
    source: `${item.source}@${item.digest}`,
    target: `{{ env "TARGET" }}/${pathOf(item.source)}${item.tag === undefined ? `@${item.digest}` : `:${item.tag}`}`,
    type: 'image',
    referrers: item.extras.length > 0,
    digestTags: item.extras.some(({tag}) => tag !== undefined),
  }))
  return `${comment}${stringify({version: 1, sync})}`
}

function pathOf(source: string): string {
  return source.slice(source.indexOf('/') + 1)
}
