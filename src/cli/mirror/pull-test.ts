import {randomBytes} from 'node:crypto'
import {setTimeout as sleep} from 'node:timers/promises'
import type {KubeClient} from '../../kube/types.ts'
import {resources} from '../../kube/resources.ts'
import type {MirrorCheck, MirrorVerification} from '../../model/mirror.ts'

interface NodeShape {
  readonly metadata?: {readonly name?: string}
  readonly status?: {
    readonly nodeInfo?: {
      readonly containerRuntimeVersion?: string
      readonly osImage?: string
      readonly architecture?: string
    }
    readonly conditions?: readonly {readonly type?: string; readonly status?: string}[]
  }
}

interface PodShape {
  readonly status?: {
    readonly containerStatuses?: readonly {
      readonly imageID?: string
      readonly state?: {
        readonly waiting?: {readonly reason?: string; readonly message?: string}
        readonly running?: object
        readonly terminated?: object
      }
    }[]
  }
}

export interface PullTestOptions {
  readonly namespace: string
  /** `NAMESPACE/NAME`; those of the namespace itself are given to the Pod. */
  readonly pullSecrets: readonly string[]
  readonly signal: AbortSignal
  readonly say: (message: string) => void
  /** Milliseconds until a pull is given up. */
  readonly patience?: number
  readonly interval?: number
}

type Outcome = MirrorVerification['inCluster']['nodes'][number]

/** One node of each kind: runtime, operating system and architecture decide how it pulls. */
export function oneNodeOfEachKind(nodes: readonly NodeShape[]): {readonly node: string; readonly runtime: string}[] {
  const kinds = new Map<string, {node: string; runtime: string}>()
  for (const {metadata, status} of nodes) {
    const ready = status?.conditions?.some(({type, status: value}) => type === 'Ready' && value === 'True') ?? false
    const info = status?.nodeInfo
    const runtime = info?.containerRuntimeVersion?.split(':')[0] ?? 'unknown'
    const key = `${runtime} ${info?.osImage ?? ''} ${info?.architecture ?? ''}`
    if (ready && metadata?.name !== undefined && !kinds.has(key))
      kinds.set(key, {node: metadata.name, runtime: info?.containerRuntimeVersion ?? 'unknown'})
  }
  return [...kinds.values()]
}

/** Lets one node of each kind pull the verified images: one short-lived Pod a node, pull policy Always, removed afterwards. */
export async function pullInCluster(
  client: KubeClient,
  checks: readonly MirrorCheck[],
  options: PullTestOptions,
): Promise<MirrorVerification['inCluster']> {
  const {items} = await client.list<NodeShape>(resources.nodes, {signal: options.signal})
  const kinds = oneNodeOfEachKind(items)
  const images = checks
    .filter(({digest}) => digest !== undefined)
    .map(({reference, digest}) => `${reference.replace(/@.*$/, '').replace(/:[^:/]+$/, '')}@${digest}`)
  if (kinds.length === 0 || images.length === 0) return {status: 'not checked', nodes: []}
  const nodes = await Promise.all(kinds.map((kind) => pullOn(client, kind, [...new Set(images)], options)))
  return {status: nodes.every(({status}) => status === 'ok') ? 'ok' : 'failed', nodes}
}

async function pullOn(
  client: KubeClient,
  {node, runtime}: {readonly node: string; readonly runtime: string},
  images: readonly string[],
  options: PullTestOptions,
): Promise<Outcome> {
  const name = `srcip-mirror-check-${randomBytes(4).toString('hex')}`
  const key = {namespace: options.namespace, name}
  await client.create(resources.pods, podFor(name, node, images, options), {signal: options.signal})
  try {
    return {node, runtime, ...(await outcomeOf(client, key, images.length, options))}
  } finally {
    await client.delete(resources.pods, key, {gracePeriodSeconds: 0}).catch((error: unknown) => {
      options.say(
        `pod/${key.namespace}/${name} could not be removed: ${error instanceof Error ? error.message : String(error)}`,
      )
    })
  }
}

function podFor(name: string, node: string, images: readonly string[], {namespace, pullSecrets}: PullTestOptions) {
  const own = pullSecrets
    .filter((secret) => secret.startsWith(`${namespace}/`))
    .map((secret) => ({name: secret.slice(namespace.length + 1)}))
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name, namespace, labels: {'srcip.dev/component': 'run'}},
    spec: {
      nodeName: node,
      restartPolicy: 'Never',
      activeDeadlineSeconds: 300,
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      imagePullSecrets: own,
      tolerations: [{operator: 'Exists'}],
      // What the image would run does not matter and must not happen: the pull alone is the proof.
      containers: images.map((image, at) => ({
        name: `image-${at}`,
        image,
        imagePullPolicy: 'Always',
        command: ['/srcip-does-not-exist'],
        securityContext: {
          allowPrivilegeEscalation: false,
          capabilities: {drop: ['ALL']},
          runAsNonRoot: true,
          runAsUser: 65532,
          seccompProfile: {type: 'RuntimeDefault'},
        },
        resources: {limits: {cpu: '10m', memory: '16Mi'}},
      })),
    },
  }
}

async function outcomeOf(
  client: KubeClient,
  key: {readonly namespace: string; readonly name: string},
  count: number,
  options: PullTestOptions,
): Promise<{status: string; reason?: string}> {
  const until = Date.now() + (options.patience ?? 180_000)
  for (;;) {
    const pod = await client.get<PodShape>(resources.pods, key, {signal: options.signal})
    const states = pod.status?.containerStatuses ?? []
    const failed = states
      .map(({state}) => state?.waiting)
      .find((waiting) => /ImagePull|ErrImage|InvalidImageName|RegistryUnavailable/.test(waiting?.reason ?? ''))
    if (failed !== undefined)
      return {status: 'failed', reason: `${failed.reason}: ${failed.message ?? ''}`.slice(0, 500)}
    // A container that could be made (even one that then cannot start) has its image.
    const pulled = states.filter(
      ({imageID, state}) =>
        (imageID ?? '') !== '' ||
        state?.running !== undefined ||
        state?.terminated !== undefined ||
        /CreateContainer|RunContainer/.test(state?.waiting?.reason ?? ''),
    )
    if (pulled.length === count) return {status: 'ok'}
    if (Date.now() > until)
      return {status: 'failed', reason: `not pulled within ${(options.patience ?? 180_000) / 1000} s`}
    await sleep(options.interval ?? 1000, undefined, {signal: options.signal})
  }
}
