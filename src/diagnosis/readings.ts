import type {SnapshotReading} from '../model/snapshot.ts'

/** `plural.group`, as RBAC messages write it. */
export function resourceOf({group, resource}: Pick<SnapshotReading, 'group' | 'resource'>): string {
  return group === '' ? resource : `${resource}.${group}`
}
