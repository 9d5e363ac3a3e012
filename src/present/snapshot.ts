import {refText} from '../model/kubernetes.ts'
import type {Snapshot, SnapshotReading} from '../model/snapshot.ts'
import {layoutTable} from './table.ts'
import type {View} from './view.ts'

/** What a snapshot holds, a line a kind; what could not be read, a line each. */
export const snapshotView: View<Snapshot> = {
  table(snapshot, options) {
    const counts = new Map<string, number>()
    for (const {kind} of snapshot.objects) counts.set(kind ?? '', (counts.get(kind ?? '') ?? 0) + 1)
    const missing = snapshot.readings.filter(({state}) => state !== 'complete' && state !== 'absent')
    const rows = [
      ...[...counts].map(([kind, count]) => [kind, String(count), stateOf(kind, snapshot.readings)]),
      ...missing.filter(({kind}) => !counts.has(kind)).map((one) => [one.kind, '0', detail(one)]),
    ]
    return layoutTable(['KIND', 'OBJECTS', 'READ'], rows, options.headers)
  },
  name: ({objects}) =>
    objects.map(({kind, metadata}) => refText({kind: kind ?? '', namespace: metadata.namespace, name: metadata.name})),
}

function stateOf(kind: string, readings: readonly SnapshotReading[]): string {
  const mine = readings.filter((one) => one.kind === kind)
  const bad = mine.find(({state}) => state !== 'complete' && state !== 'absent')
  if (bad !== undefined) return detail(bad)
  return mine.length === 0 ? 'from files' : (mine.find(({only}) => only !== undefined)?.only ?? 'all')
}

function detail(one: SnapshotReading): string {
  return `${one.state}${one.namespace === undefined ? '' : ` in ${one.namespace}`}`
}
