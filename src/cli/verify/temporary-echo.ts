import {randomBytes} from 'node:crypto'
import {resources, sleep, systemClock, type KubeClient, type Resource} from '../../kube/index.ts'
import {componentLabel} from '../../model/dns.ts'
import {SrcipError} from '../../model/errors.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {projectPod} from '../../platforms/dns/objects.ts'

/** What a temporary echo is made of. */
export interface EchoRequest {
  readonly namespace: string
  /** Name that the Ingress answers to. */
  readonly host: string
  /** Image of this product. */
  readonly image: string
  readonly ingressClass: string | undefined
  /** Secret with the certificate for the host; without it the ingress shows its own. */
  readonly tlsSecret: string | undefined
  /** Ranges whose X-Forwarded-For the echo believes: those of nodes and pods. */
  readonly trusted: readonly string[]
  /** Milliseconds for the Pod to become ready. */
  readonly readyTimeout: number
}

/** Seconds after which the kubelet ends the Pod whatever happens to us. */
const lifetimeSeconds = 900
const httpPort = 8080

/**
 * Pod, Service and Ingress of an echo, for as long as `use` runs; all of it goes at the end, however that comes. After kill -9 the Pod ends by
 * itself and `cleanup` takes it out; Service and Ingress are owned by it and go along.
 */
export async function withTemporaryEcho<T>(
  client: KubeClient,
  request: EchoRequest,
  signal: AbortSignal,
  use: () => Promise<T>,
): Promise<T> {
  const name = `srcip-echo-${randomBytes(4).toString('hex')}`
  const made: {resource: Resource; uid: string}[] = []
  const create = async (resource: Resource, object: KubeObject): Promise<KubeObject> => {
    // noted before it is sent: a signal may come between the write and its answer, and the name is ours alone
    const entry = {resource, uid: ''}
    made.unshift(entry)
    const created = await client.create(resource, object, {signal})
    entry.uid = created.metadata.uid ?? ''
    return created
  }
  try {
    const pod = await create(resources.pods, echoPod(name, request))
    const owner = {apiVersion: 'v1', kind: 'Pod', name, uid: pod.metadata.uid ?? ''}
    await create(resources.services, echoService(name, request, owner))
    await create(resources.ingresses, echoIngress(name, request, owner))
    await untilReady(client, {namespace: request.namespace, name}, request.readyTimeout, signal)
    return await use()
  } finally {
    // Not stopped by a signal: what we made we take out.
    for (const {resource, uid} of made)
      await client.delete(resource, {namespace: request.namespace, name}, uid === '' ? {} : {uid})
  }
}

interface Owner {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
}

function metadata(name: string, {namespace}: EchoRequest, owner?: Owner) {
  return {
    name,
    namespace,
    labels: {[componentLabel]: 'echo', 'app.kubernetes.io/name': 'srcip', 'srcip.dev/echo': name},
    ...(owner === undefined ? {} : {ownerReferences: [owner]}),
  }
}

function echoPod(name: string, request: EchoRequest): KubeObject {
  const trusted = request.trusted.flatMap((range) => ['--trusted-cidr', range])
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadata(name, request),
    spec: {
      restartPolicy: 'Never',
      activeDeadlineSeconds: lifetimeSeconds,
      automountServiceAccountToken: false,
      securityContext: {runAsNonRoot: true, seccompProfile: {type: 'RuntimeDefault'}},
      containers: [
        {
          name: 'echo',
          image: request.image,
          args: ['whoami', '--http-port', String(httpPort), ...trusted],
          ports: [{name: 'http', containerPort: httpPort}],
          readinessProbe: {tcpSocket: {port: httpPort}, periodSeconds: 1},
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: {drop: ['ALL']},
          },
          resources: {requests: {cpu: '10m', memory: '64Mi'}, limits: {memory: '128Mi'}},
        },
      ],
    },
  }
}

function echoService(name: string, request: EchoRequest, owner: Owner): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: metadata(name, request, owner),
    spec: {selector: {'srcip.dev/echo': name}, ports: [{name: 'http', port: 80, targetPort: httpPort}]},
  }
}

function echoIngress(name: string, request: EchoRequest, owner: Owner): KubeObject {
  const {host, ingressClass, tlsSecret} = request
  const backend = {service: {name, port: {number: 80}}}
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: metadata(name, request, owner),
    spec: {
      ...(ingressClass === undefined ? {} : {ingressClassName: ingressClass}),
      ...(tlsSecret === undefined ? {} : {tls: [{hosts: [host], secretName: tlsSecret}]}),
      rules: [{host, http: {paths: [{path: '/', pathType: 'Prefix', backend}]}}],
    },
  }
}

async function untilReady(
  client: KubeClient,
  key: {readonly namespace: string; readonly name: string},
  timeout: number,
  signal: AbortSignal,
): Promise<void> {
  const end = systemClock.now() + timeout
  for (;;) {
    const pod = projectPod(await client.get(resources.pods, key, {signal}))
    if (pod.ready) return
    if (systemClock.now() > end || pod.phase === 'Failed' || pod.phase === 'Succeeded') {
      throw new SrcipError('Precondition', `the echo did not become ready: its Pod is ${pod.phase}`, {
        object: `pod/${key.namespace}/${key.name}`,
        hints: ['the image must be one of kubectl srcip that the nodes can pull: --image'],
      })
    }
    await sleep(systemClock, 500, signal)
  }
}
