import type {Static} from 'typebox'
import type {DeepReadonly} from './deep-readonly.ts'
import type {KubeObject} from './kubernetes.ts'
import type {snapshotSchema} from './schemas/snapshot.ts'

/** What `snapshot` writes and `-f` reads back. */
export type Snapshot = Omit<DeepReadonly<Static<typeof snapshotSchema>>, 'objects'> & {
  readonly objects: readonly KubeObject[]
}

/** The form of snapshots that is written, and the newest that can be read. */
export const snapshotFormat = 1

/** How far one kind was read. */
export type SnapshotReading = Snapshot['readings'][number]

/** `denied: list pods in namespace x`: what could not be read, as a person asks an administrator for it. */
export function readingSentence(one: SnapshotReading): string {
  const what = one.group === '' ? one.resource : `${one.resource}.${one.group}`
  const names = one.names === undefined ? '' : ` ${one.names.join(', ')}`
  const where = one.namespace === undefined ? '' : ` in namespace ${one.namespace}`
  const why = one.state === 'denied' || one.message === undefined ? '' : ` (${one.message})`
  return `${one.state}: ${one.verb} ${what}${names}${where}${why}`
}

/** `unknown`: nobody asked, as in a file that simply does not mention the kind. */
export type ReadingState = SnapshotReading['state'] | 'unknown'

/** Asked for and not, or not wholly, had: what is missing may be there all the same. A file that does not mention a kind is another thing. */
export function isUnread(state: ReadingState): boolean {
  return state === 'denied' || state === 'partial' || state === 'unreachable'
}

/** Questions to a snapshot, answered from an index made once. */
export interface SnapshotIndex {
  readonly snapshot: Snapshot
  /** Objects of a kind in a stable order (namespace, name); the group tells equal kind names apart. */
  list(kind: string, group?: string): readonly KubeObject[]
  get(kind: string, namespace: string | undefined, name: string, group?: string): KubeObject | undefined
  /**
   * May absence be believed? `complete` and `absent` mean yes. For one object by name, a reading of that name or of its
   * namespace counts before one of the whole cluster.
   */
  state(kind: string, namespace?: string, name?: string, group?: string): ReadingState
}

/** The API group of `apiVersion` (`apps/v1` is `apps`, `v1` is the core group, which is empty). */
export function groupOf(apiVersion: string | undefined): string {
  const slash = apiVersion?.indexOf('/') ?? -1
  return slash < 0 ? '' : apiVersion!.slice(0, slash)
}

/** Indexes a snapshot. Objects without kind or name are ignored; of two with one identity the later wins. */
export function indexSnapshot(snapshot: Snapshot): SnapshotIndex {
  const kinds = new Map<string, Map<string, KubeObject>>()
  for (const object of snapshot.objects) {
    const {kind, metadata} = object
    if (kind === undefined || typeof metadata?.name !== 'string') continue
    const byKey = kinds.get(kind) ?? new Map<string, KubeObject>()
    byKey.set(keyOf(groupOf(object.apiVersion), metadata.namespace, metadata.name), object)
    kinds.set(kind, byKey)
  }
  const sorted = new Map(
    [...kinds].map(([kind, byKey]) => [
      kind,
      [...byKey.values()].toSorted(
        (a, b) =>
          compare(a.metadata.namespace ?? '', b.metadata.namespace ?? '') || compare(a.metadata.name, b.metadata.name),
      ),
    ]),
  )
  const list = (kind: string, group?: string): readonly KubeObject[] => {
    const all = sorted.get(kind) ?? []
    return group === undefined ? all : all.filter((object) => groupOf(object.apiVersion) === group)
  }
  return {
    snapshot,
    list,
    get: (kind, namespace, name, group) =>
      group === undefined
        ? list(kind).find((one) => one.metadata.name === name && (one.metadata.namespace ?? '') === (namespace ?? ''))
        : kinds.get(kind)?.get(keyOf(group, namespace, name)),
    state: (kind, namespace, name, group) => stateOf(snapshot.readings, {kind, namespace, name, group}),
  }
}

function stateOf(
  readings: readonly SnapshotReading[],
  wanted: {
    readonly kind: string
    readonly namespace: string | undefined
    readonly name: string | undefined
    readonly group: string | undefined
  },
): ReadingState {
  const fitting = readings.filter(
    (one) =>
      one.kind === wanted.kind &&
      (wanted.group === undefined || one.group === wanted.group) &&
      (one.namespace === undefined || one.namespace === wanted.namespace) &&
      (one.names === undefined || (wanted.name !== undefined && one.names.includes(wanted.name))),
  )
  const rank = (one: SnapshotReading): number =>
    (one.names === undefined ? 0 : 2) + (one.namespace === undefined ? 0 : 1)
  const known = fitting.filter(({state}) => state === 'complete' || state === 'absent')
  const best = (known.length > 0 ? known : fitting).toSorted((a, b) => rank(b) - rank(a))[0]
  return best?.state ?? 'unknown'
}

function keyOf(group: string, namespace: string | undefined, name: string): string {
  return `${group}/${namespace ?? ''}/${name}`
}

/** Plain code unit order: the same on every machine, whatever its locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
