import {cozystackRows} from './cozystack-rows.ts'
import type {SnapshotKind} from './kind.ts'
import {networkRows} from './network-rows.ts'
import {receiverRows} from './receiver-rows.ts'

/** Objects that the tool itself might write: their field owners are kept. */
const written = new Set(['packages'])

/** Custom resources of the platforms that are known, asked for where discovery shows them. */
export const customKinds: readonly SnapshotKind[] = [...networkRows, ...receiverRows, ...cozystackRows].flatMap(
  ({group, versions, kinds, clusterWide}) =>
    Object.entries(kinds).map(([plural, [kind, fields]]): SnapshotKind => ({
      group,
      versions,
      plural,
      kind,
      namespaced: clusterWide?.includes(plural) !== true,
      read: 'all',
      builtIn: false,
      metadata: {labels: 'all', ...(written.has(plural) ? {managedFields: true as const} : {})},
      fields,
    })),
)
