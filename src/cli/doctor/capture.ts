import {randomBytes} from 'node:crypto'
import {existsSync} from 'node:fs'
import {writeFile} from 'node:fs/promises'
import {captureFindings} from '../../diagnosis/evidence/findings.ts'
import {judgeCapture} from '../../diagnosis/evidence/judge-capture.ts'
import type {Places} from '../../diagnosis/evidence/places.ts'
import {readTcpdumpText} from '../../diagnosis/evidence/tcpdump-text.ts'
import {resources, sleep, systemClock, type KubeClient} from '../../kube/index.ts'
import type {Finding} from '../../model/doctor.ts'
import {SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {ReceiverPod} from './receiver-pods.ts'

export interface CaptureRequest {
  readonly pod: ReceiverPod
  /** Image with tcpdump and timeout. */
  readonly image: string
  /** At most 60. */
  readonly seconds: number
  readonly places: Places
  /** File that gets the text of tcpdump; payload is in it. */
  readonly save?: string | undefined
  readonly signal: AbortSignal
  readonly onEvent: EventSink
}

/** New connections after which enough was seen. */
const enoughConnections = 200
/** Bytes of each packet: headers, and a PROXY header of version 2 with its TLVs. */
const snapLength = 384
const packetLimit = 20_000

/**
 * Puts an ephemeral container with tcpdump into one pod and reads how connections to its ports begin. Only SYNs and segments with data
 * towards the pod are taken. The container cannot be taken out again: it stays, ended, until the pod is replaced. Throws Denied (31)
 * when the right to it is missing or Pod Security refuses it.
 */
export async function capturePod(client: KubeClient, request: CaptureRequest): Promise<Finding[]> {
  const {pod, seconds, places, signal, onEvent} = request
  const name = `srcip-capture-${randomBytes(3).toString('hex')}`
  if (request.save !== undefined && existsSync(request.save)) throw cannotSave(request.save, 'it is there already')
  const title = `capture new connections of pod/${pod.namespace}/${pod.name}, at most ${seconds} s`
  onEvent({type: 'step-started', step: 'capture', title})
  await addContainer(client, request, name)
  const end = systemClock.now() + seconds * 1000 + 60_000
  for (;;) {
    await sleep(systemClock, 1000, signal)
    const state = await stateOf(client, pod, name, signal)
    const text = state === 'waiting' ? '' : await client.logs(pod, {container: name, limitBytes: 16 << 20, signal})
    const read = readTcpdumpText(text)
    const reading = 'unreadable' in read ? undefined : judgeCapture(read, places, pod.ports)
    const seen = reading?.evidence.reduce((sum, {count}) => sum + count, 0) ?? 0
    if (state === 'terminated' || seen >= enoughConnections || systemClock.now() > end) {
      onEvent({type: 'step-done', step: 'capture', title, changed: true, detail: `${seen} connections`})
      if (request.save !== undefined) await saveCapture(request.save, text)
      return reading === undefined
        ? [nothingSeen(pod, state)]
        : captureFindings(reading, `pod/${pod.namespace}/${pod.name}`)
    }
    onEvent({type: 'step-progress', step: 'capture', message: `${seen} connections seen`})
  }
}

/** For its owner alone; a file that is there is not written over. */
async function saveCapture(file: string, text: string): Promise<void> {
  await writeFile(file, text, {mode: 0o600, flag: 'wx'}).catch((error: NodeJS.ErrnoException) => {
    throw cannotSave(file, error.code === 'EEXIST' ? 'it is there already' : error.message)
  })
}

function cannotSave(file: string, reason: string): SrcipError {
  return new SrcipError('Usage', `cannot write --save ${file}: ${reason}`, {object: file})
}

async function addContainer(
  client: KubeClient,
  {pod, image, seconds, signal}: CaptureRequest,
  name: string,
): Promise<void> {
  const ports = pod.ports.length === 0 ? 'tcp' : `(${pod.ports.map((port) => `tcp dst port ${port}`).join(' or ')})`
  // A SYN, or an IPv4 packet that is longer than its headers; of IPv6 every packet, since its extension headers have no fixed length.
  const data = '(tcp[tcpflags] & tcp-syn != 0 or ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2) != 0)'
  const container = {
    name,
    image,
    command: ['timeout', String(seconds), 'tcpdump'],
    args: [
      '-i',
      'any',
      '-n',
      '-l',
      '-x',
      '-s',
      String(snapLength),
      '-c',
      String(packetLimit),
      `${ports} and (ip6 or ${data})`,
    ],
    securityContext: {
      runAsUser: 0,
      runAsNonRoot: false,
      capabilities: {drop: ['ALL'], add: ['NET_RAW', 'SETUID', 'SETGID']},
    },
  }
  const object = `pod/${pod.namespace}/${pod.name}`
  try {
    await client.request({
      method: 'PATCH',
      path: `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}/ephemeralcontainers`,
      contentType: 'application/strategic-merge-patch+json',
      body: JSON.stringify({spec: {ephemeralContainers: [container]}}),
      about: {
        verb: 'patch',
        resource: resources.pods,
        subresource: 'ephemeralcontainers',
        namespace: pod.namespace,
        name: pod.name,
      },
      signal,
    })
  } catch (error) {
    // The words of the admission plugin; RBAC's refusal names the right that is missing instead.
    if (!(error instanceof SrcipError) || !error.message.includes('PodSecurity')) throw error
    throw new SrcipError('Denied', `the capture container was refused: ${error.message}`, {
      object,
      hints: ['capture on the node with tcpdump and give the file: --capture-file FILE'],
      cause: error,
    })
  }
}

type State = 'waiting' | 'running' | 'terminated'

async function stateOf(client: KubeClient, pod: ReceiverPod, name: string, signal: AbortSignal): Promise<State> {
  const object = await client.get<KubeObject>(resources.pods, pod, {signal})
  const {ephemeralContainerStatuses = []} = (object['status'] ?? {}) as {
    ephemeralContainerStatuses?: readonly {
      name?: string
      state?: Readonly<Record<string, {readonly reason?: string}>>
    }[]
  }
  const state = ephemeralContainerStatuses.find((one) => one.name === name)?.state ?? {}
  const reason = state['waiting']?.reason
  if (reason === 'ErrImagePull' || reason === 'ImagePullBackOff' || reason === 'InvalidImageName') {
    throw new SrcipError('Precondition', `the image of --capture-image cannot be pulled: ${reason}`, {
      object: `pod/${pod.namespace}/${pod.name}`,
      hints: ['name an image with tcpdump that this node can pull, or use --capture-file'],
    })
  }
  return state['terminated'] !== undefined ? 'terminated' : state['running'] !== undefined ? 'running' : 'waiting'
}

function nothingSeen(pod: ReceiverPod, state: State): Finding {
  const object = `pod/${pod.namespace}/${pod.name}`
  return {
    id: 'SRC110',
    severity: 'info',
    title:
      state === 'waiting' ? 'the capture container did not start' : 'no new connection was seen while the capture ran',
    object,
    evidence: [],
    remedies: [],
  }
}
