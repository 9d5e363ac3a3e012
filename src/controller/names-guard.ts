import type {Host} from '../model/hosts.ts'

/** One name of ours that an output holds now. */
export interface Published {
  readonly name: string
  readonly kind: Host['kind']
  readonly target: string
}

/** What is known when a set is about to be written. */
export interface GuardInput {
  readonly published: readonly Published[]
  readonly wanted: readonly Published[]
  /** Every source that is not absent or switched off has been seen whole in this process. */
  readonly complete: boolean
  /** True for a name whose going was observed: an object that carried it was deleted or changed before our eyes. */
  readonly observed: (entry: Published) => boolean
  /** True for a name that this process has added itself: no source that is still out of sight can have asked for it. */
  readonly addedHere: (entry: Published) => boolean
  /** A second consistent list has been taken since the names went missing. */
  readonly confirmed: boolean
  readonly allowEmpty: boolean
}

export interface GuardVerdict {
  /** What is to stand in the output. */
  readonly names: readonly Published[]
  /** Names that stay although nobody asks for them, and why. */
  readonly kept: readonly Published[]
  readonly reason?: 'sources-incomplete' | 'mass-removal' | 'empty-list'
}

/**
 * The whole-set rule (design.md 5): losing sight of a source never removes names. What is missing is believed when its
 * going was observed; found missing by a list, over half of the names (and more than 10) only after a second list, and
 * everything never without `--allow-empty`. Pure.
 */
export function guardNames(input: GuardInput): GuardVerdict {
  const wanted: readonly Published[] = input.wanted.map(({name, kind, target}) => ({name, kind, target}))
  const keys = new Set(wanted.map(keyOf))
  const missing = input.published.filter((entry) => !keys.has(keyOf(entry)))
  if (missing.length === 0) return {names: wanted, kept: []}
  if (!input.complete) {
    const unseen = missing.filter((entry) => !input.observed(entry) || !input.addedHere(entry))
    return unseen.length === 0 ? {names: wanted, kept: []} : keep(wanted, unseen, 'sources-incomplete')
  }

  const doubtful = missing.filter((entry) => !input.observed(entry))
  if (doubtful.length === 0) return {names: wanted, kept: []}
  if (wanted.length === 0 && !input.allowEmpty) return keep(wanted, doubtful, 'empty-list')
  const mass = doubtful.length > 10 && doubtful.length * 2 > input.published.length
  if (mass && !input.confirmed) return keep(wanted, doubtful, 'mass-removal')
  return {names: wanted, kept: []}
}

function keep(
  wanted: readonly Published[],
  kept: readonly Published[],
  reason: NonNullable<GuardVerdict['reason']>,
): GuardVerdict {
  return {names: [...wanted, ...kept], kept, reason}
}

/** A name counts once for each kind, whatever its target: a name that moves to another proxy is not lost. */
export function keyOf(entry: {readonly name: string; readonly kind: Host['kind']}): string {
  return `${entry.kind} ${entry.name}`
}
