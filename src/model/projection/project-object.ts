import {field, text} from '../fields.ts'
import type {KubeObject} from '../kubernetes.ts'
import {groupOf} from '../snapshot.ts'
import {coreKinds, gatewayKinds} from './core-kinds.ts'
import {customKinds} from './custom-kinds.ts'
import type {SnapshotKind} from './kind.ts'
import {projectMetadata} from './metadata.ts'
import {projectFields} from './shape.ts'

/** Every kind that a snapshot may hold. */
export const snapshotKinds: readonly SnapshotKind[] = [...coreKinds, ...gatewayKinds, ...customKinds]

const byName = new Map(snapshotKinds.map((kind) => [`${kind.group}/${kind.kind}`, kind]))

/** The kind of an object by apiVersion and kind, whatever its version; undefined for kinds of no use. */
export function snapshotKindOf(apiVersion: string | undefined, kind: string | undefined): SnapshotKind | undefined {
  return kind === undefined ? undefined : byName.get(`${groupOf(apiVersion)}/${kind}`)
}

/**
 * What is kept of one object: identity and the fields that some check reads (design.md 3); undefined without a name. Pure
 * and the same for an object that was projected before. Secrets do not get through: see mask.ts.
 * @param apiVersion of the object, where items of a list carry none themselves
 */
export function projectObject(
  kind: SnapshotKind,
  value: Readonly<Record<string, unknown>>,
  apiVersion?: string,
): KubeObject | undefined {
  const metadata = projectMetadata(field(value, 'metadata'), kind.metadata)
  if (metadata === undefined) return undefined
  const version = text(field(value, 'apiVersion')) ?? apiVersion ?? apiVersionOf(kind)
  return {
    apiVersion: groupOf(version) === kind.group ? version : apiVersionOf(kind),
    kind: kind.kind,
    metadata: metadata as unknown as KubeObject['metadata'],
    ...projectFields(value, kind.fields),
  }
}

function apiVersionOf(kind: SnapshotKind): string {
  return kind.group === '' ? (kind.versions[0] ?? 'v1') : `${kind.group}/${kind.versions[0] ?? 'v1'}`
}

/** The order of objects in a document: kinds as in the tables, then group, namespace and name by code unit. */
export function sortObjects(objects: readonly KubeObject[]): KubeObject[] {
  const rank = new Map(snapshotKinds.map((kind, index) => [`${kind.group}/${kind.kind}`, index]))
  return objects
    .map((object) => ({
      object,
      rank: rank.get(`${groupOf(object.apiVersion)}/${object.kind}`) ?? rank.size,
      key: `${object.metadata.namespace ?? ''}/${object.metadata.name}`,
    }))
    .sort((a, b) => a.rank - b.rank || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({object}) => object)
}
