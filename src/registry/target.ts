import {SrcipError} from '../model/errors.ts'
import {type Reference, repositoryProblem, type TargetPrefix} from './reference.ts'

/** How a source's path appears at the target (mirror.md 8.1). */
export const pathLayouts = ['keep', 'host-prefix', 'flat'] as const
export type PathLayout = (typeof pathLayouts)[number]

/**
 * The repository at the target for one at the source.
 * `keep` leaves the path alone, `host-prefix` puts the source's host before it, `flat` joins the path by `-` (never for
 * charts: Helm insists on the last component). The prefix of `--to` goes first in all.
 * @throws SrcipError Usage when the result is no repository name
 */
export function targetRepository(
  source: Pick<Reference, 'host' | 'repository'>,
  to: TargetPrefix,
  layout: PathLayout,
  chart: boolean,
): string {
  const hostPart = source.host.replace(/[[\]]/g, '').replaceAll(':', '-').toLowerCase()
  const parts: Readonly<Record<PathLayout, string>> = {
    keep: source.repository,
    'host-prefix': `${hostPart}/${source.repository}`,
    flat: chart ? source.repository : source.repository.replaceAll('/', '-'),
  }
  const path = to.prefix === '' ? parts[layout] : `${to.prefix}/${parts[layout]}`
  const problem = repositoryProblem(path)
  if (problem !== undefined) throw new SrcipError('Usage', `target repository "${path}" ${problem}`)
  return path
}

export interface Placed {
  /** `host/path` at the source. */
  readonly source: string
  readonly target: string
  readonly tag?: string | undefined
  readonly digest?: string | undefined
}

/**
 * Refuses plans where two sources would meet in one tag of the target with different content.
 * @throws SrcipError Precondition naming both
 */
export function refuseClashes(placed: readonly Placed[]): void {
  const taken = new Map<string, Placed>()
  for (const place of placed) {
    if (place.tag === undefined) continue
    const key = `${place.target}:${place.tag}`
    const other = taken.get(key)
    if (other === undefined) taken.set(key, place)
    else if (other.source !== place.source && (other.digest === undefined || other.digest !== place.digest)) {
      throw new SrcipError('Precondition', `${other.source} and ${place.source} would both become ${key}`, {
        hints: ['--layout host-prefix keeps them apart'],
      })
    }
  }
}
