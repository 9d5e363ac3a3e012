import {hasStatus, resources, sleep, systemClock, type KubeClient} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {sameValue} from '../../workflows/engine/canonical.ts'
import {patchBody, readField} from '../../workflows/engine/fields.ts'
import {watchOver, type GuardOrder, type GuardPorts, type GuardState} from '../../workflows/guard/watch-over.ts'
import {keyOf, resourceOf} from './operations/resource.ts'

const states: ReadonlySet<string> = new Set<GuardState>(['watching', 'confirmed', 'returning', 'returned'])

/** The guard of a flip, in its Pod: its order and its word stand in one ConfigMap, NAMESPACE/NAME. */
export async function runGuard(
  client: KubeClient,
  place: string,
  {signal, say}: {readonly signal: AbortSignal; readonly say: (line: string) => void},
): Promise<GuardState> {
  const [namespace = '', name = ''] = place.split('/')
  if (namespace === '' || name === '')
    throw new SrcipError('Usage', `--config-map expects NAMESPACE/NAME, not ${JSON.stringify(place)}`)
  const order = await readOrder(client, {namespace, name}, signal)
  return await watchOver(guardPorts(client, {namespace, name}, order, say), order, signal)
}

async function readOrder(
  client: KubeClient,
  key: {readonly namespace: string; readonly name: string},
  signal: AbortSignal,
): Promise<GuardOrder> {
  const object = `configmap/${key.namespace}/${key.name}`
  for (;;) {
    try {
      const live = await client.get<KubeObject>(resources.configMaps, key, {signal})
      const {order} = (live['data'] ?? {}) as {readonly order?: string}
      return JSON.parse(order ?? '') as GuardOrder
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof SyntaxError)
        throw new SrcipError('Precondition', `${object} holds no order of a guard`, {object})
      if (!(error instanceof SrcipError) || (error.code !== 'Unreachable' && error.code !== 'Timeout')) throw error
      await sleep(systemClock, 1000, signal)
    }
  }
}

function guardPorts(
  client: KubeClient,
  key: {readonly namespace: string; readonly name: string},
  order: GuardOrder,
  say: (line: string) => void,
): GuardPorts {
  const resource = resourceOf(order.object)
  const readObject = (signal: AbortSignal) => client.find<KubeObject>(resource, keyOf(order.object), {signal})
  return {
    readObject,
    async readState(signal) {
      const live = await client.get<KubeObject>(resources.configMaps, key, {signal})
      const {state} = (live['data'] ?? {}) as {readonly state?: string}
      return {
        state: state !== undefined && states.has(state) ? (state as GuardState) : undefined,
        version: live.metadata.resourceVersion ?? '',
      }
    },
    async writeState(state, version, signal) {
      try {
        await client.mergePatch(resources.configMaps, key, {data: {state}}, {resourceVersion: version, signal})
        return true
      } catch (error) {
        if (hasStatus(error, 409)) return false
        throw error
      }
    },
    async putBack(signal) {
      const live = await readObject(signal)
      const back = order.fields
        .filter(({path, after}) => sameValue(readField(live, path), after))
        .map(({path, before, after}) => ({path, before: after, after: before}))
      if (live === undefined || back.length === 0) return
      const {uid, resourceVersion} = live.metadata
      await client.mergePatch(resource, keyOf(order.object), patchBody(back), {uid, resourceVersion, signal})
    },
    now: () => systemClock.now(),
    sleep: (ms, signal) => sleep(systemClock, ms, signal),
    say,
  }
}
