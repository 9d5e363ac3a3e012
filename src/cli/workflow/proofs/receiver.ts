import {randomBytes} from 'node:crypto'
import type {Duplex} from 'node:stream'
import {labelSelectorOf, resources, type KubeClient} from '../../../kube/index.ts'
import type {KubeObject} from '../../../model/kubernetes.ts'
import type {ReceiverPort, ReceiverProof} from '../../../model/proofs.ts'
import {encodeHeader, instanceLength, isDecided, probeRequest, readOutcome, type Outcome} from '../../../proxy/index.ts'
import type {ProofAnswer} from '../../../workflows/engine/ports.ts'
import type {ProofContext} from './index.ts'

/** What a receiver's port does with fresh connections. */
export type ReceiverMode = 'required' | 'refused' | 'either' | 'unclear'

/** Milliseconds for one probe. */
const probeTimeoutMs = 5000

/** Does every pod treat fresh connections on every port as wanted? Pods that are ending do not count, those that are not ready do. */
export async function readReceiver(context: ProofContext, proof: ReceiverProof): Promise<ProofAnswer> {
  const {client, memory, signal} = context
  const pods = await livePods(client, proof.namespace, proof.selector, signal)
  if (pods.length === 0) return {holds: 'unknown', evidence: [`${proof.title}: no pod is running`]}
  const evidence: string[] = []
  let holds: ProofAnswer['holds'] = 'yes'
  for (const pod of pods) {
    for (const port of proof.ports) {
      const place = `pod/${proof.namespace}/${pod} port ${port.port}`
      for (let seen = memory.discarded.get(place) ?? 0; seen < (proof.discard ?? 0); seen++) {
        await probePod(client, {namespace: proof.namespace, name: pod}, port, true, signal)
        memory.discarded.set(place, seen + 1)
      }
      const {mode, plain, header} = await receiverMode(client, {namespace: proof.namespace, name: pod}, port, signal)
      if (mode === port.header) {
        evidence.push(`${place}: PROXY header ${mode}`)
        continue
      }
      holds = 'no'
      evidence.push(`${place}: PROXY header ${mode}, not ${port.header} (plain: ${plain}, behind a header: ${header})`)
      return {holds, evidence: evidence.slice(-1)}
    }
  }
  return {holds, evidence}
}

/** What one port of one pod does, with and without a header. */
export async function receiverMode(
  client: KubeClient,
  pod: {readonly namespace: string; readonly name: string},
  port: ReceiverPort,
  signal: AbortSignal,
): Promise<{readonly mode: ReceiverMode; readonly plain: Outcome; readonly header: Outcome}> {
  const plain = await probePod(client, pod, port, false, signal)
  const header = await probePod(client, pod, port, true, signal)
  return {mode: modeOf(plain, header), plain, header}
}

/** `mute` is a refusal, too: a receiver may wait for a header that never comes. */
export function modeOf(plain: Outcome, header: Outcome): ReceiverMode {
  if (plain === 'answer') {
    if (header === 'answer') return 'either'
    return header === 'rejected' || header === 'cut' ? 'refused' : 'unclear'
  }
  return header === 'answer' && (plain === 'cut' || plain === 'rejected' || plain === 'mute') ? 'required' : 'unclear'
}

/** Names of the pods with these labels that are not ending. */
export async function livePods(
  client: KubeClient,
  namespace: string,
  selector: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string[]> {
  const {items} = await client.list<KubeObject>(resources.pods, {
    namespace,
    labelSelector: labelSelectorOf(selector),
    signal,
  })
  return items
    .filter((pod) => {
      const {phase} = (pod['status'] ?? {}) as {readonly phase?: string}
      return pod.metadata.deletionTimestamp === undefined && phase !== 'Succeeded' && phase !== 'Failed'
    })
    .map(({metadata}) => metadata.name)
    .toSorted()
}

async function probePod(
  client: KubeClient,
  pod: {readonly namespace: string; readonly name: string},
  {port, tls, host}: ReceiverPort,
  withHeader: boolean,
  signal: AbortSignal,
): Promise<Outcome> {
  const kind = tls ? 'tls' : 'http'
  const stream = await client.portForward(pod, port, {signal, timeoutMs: probeTimeoutMs})
  // the receiver sees the loopback address of its own pod, so the header tells of nobody else
  const end = {address: '127.0.0.1', port: 1024}
  const header = withHeader ? encodeHeader('v1', end, {address: '127.0.0.1', port}) : Buffer.alloc(0)
  const instance = randomBytes(instanceLength).toString('hex').slice(0, instanceLength)
  const request = Buffer.concat([header, probeRequest(kind, instance, host, randomBytes(64))])
  return await exchange(stream, request, kind, signal)
}

function exchange(stream: Duplex, request: Buffer, kind: 'http' | 'tls', signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0)
    const finish = (end: 'bytes' | 'closed' | 'time'): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
      stream.destroy()
      resolve(readOutcome(kind, {bytes, end}))
    }
    const stop = (): void => {
      clearTimeout(timer)
      stream.destroy()
      reject(signal.reason as Error)
    }
    const timer = setTimeout(() => finish('time'), probeTimeoutMs)
    signal.addEventListener('abort', stop, {once: true})
    stream.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      if (isDecided(kind, bytes)) finish('bytes')
    })
    stream.on('error', () => finish('closed'))
    stream.on('end', () => finish('closed'))
    stream.on('close', () => finish('closed'))
    stream.write(request)
  })
}
