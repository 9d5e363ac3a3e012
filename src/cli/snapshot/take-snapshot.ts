import {setFlagsFromString} from 'node:v8'
import {loadSnapshot, readSnapshotFiles, type KubeClient} from '../../kube/index.ts'
import type {EventSink} from '../../model/events.ts'
import type {Snapshot} from '../../model/snapshot.ts'
import type {SnapshotFlagValues} from './flags.ts'

/** A progress line a second is enough for a person. */
const progressMs = 1000

export interface SnapshotContext {
  /** Called only without -f. */
  readonly open: () => Promise<KubeClient>
  readonly signal: AbortSignal
  readonly onEvent: EventSink
  readonly now: Date
}

/** `snapshot`: reads the cluster, or puts files together. */
export async function takeSnapshot(flags: SnapshotFlagValues, context: SnapshotContext): Promise<Snapshot> {
  const taken = await readWhole(flags, context)
  if (!flags.anonymise) return taken
  const [{anonymiseSnapshot}, {keyedDigest}] = await Promise.all([
    import('../../model/anonymise/anonymise-snapshot.ts'),
    import('./keyed-digest.ts'),
  ])
  return anonymiseSnapshot(taken, keyedDigest(taken))
}

async function readWhole(flags: SnapshotFlagValues, context: SnapshotContext): Promise<Snapshot> {
  const {signal, onEvent} = context
  if (flags.filename !== undefined) return await readSnapshotFiles(flags.filename, {signal})
  collectEarly()
  const client = await context.open()
  const title = `read ${client.config.server}`
  onEvent({type: 'step-started', step: 'read', title})
  const snapshot = await loadSnapshot(client, {
    signal,
    now: context.now,
    onEvent: sparse(onEvent),
    ...(flags.namespace === undefined ? {} : {namespaces: [flags.namespace, 'kube-system']}),
  })
  const kinds = new Set(snapshot.objects.map(({kind}) => kind)).size
  const detail = `${snapshot.objects.length} objects of ${kinds} kinds`
  onEvent({type: 'step-done', step: 'read', title, changed: true, detail})
  return snapshot
}

/**
 * Thousands of objects are parsed and most of each is dropped at once: V8 would rather let the heap grow to three times what is
 * kept. Read by it at each collection; where it does not know the flag, nothing changes.
 */
function collectEarly(): void {
  setFlagsFromString('--optimize-for-size')
}

function sparse(sink: EventSink): EventSink {
  let last = performance.now()
  return (event) => {
    if (event.type === 'step-progress' && performance.now() - last < progressMs) return
    last = performance.now()
    sink(event)
  }
}
