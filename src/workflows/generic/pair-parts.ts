import type {PairFacts, PairPort} from './pair-facts.ts'
import type {Manifest, PairParts} from './pair-steps.ts'

/** Where our objects go, and what they run. */
export interface PartSettings {
  /** Repository and digest; empty: not known, then nothing can be applied. */
  readonly image: string
  /** Namespace and ConfigMaps of cluster DNS, which the controller may write. */
  readonly dns: {readonly namespace: string; readonly configMaps: readonly string[]}
  /** Names of Secrets in our namespace that the image is pulled with. */
  readonly pullSecrets: readonly string[]
}

/** Namespace of the objects as they are shipped. */
const namespace = 'srcip'
const firstListen = 8080

type Json = Record<string, unknown>

/**
 * The chart's objects (charts/objects.json) with the names, ports and image of one pair in their places. The proxy follows single
 * pods: its target is a headless Service with the selector of the ingress Service (design.md 6). Pure.
 */
export function pairParts(objects: readonly Manifest[], facts: PairFacts, settings: PartSettings): PairParts {
  const listens = facts.service.ports.map((port, index) => ({...port, listen: listenPort(port.port, index)}))
  const own = (component: string): Json[] =>
    objects.filter((one) => componentOf(one) === component).map((one) => structuredClone(one) as Json)
  const proxy = (mode: 'auto' | 'always'): Manifest[] => [
    namespaceObject,
    ...[...own('proxy'), ...own('endpoints')].map((one) => fillProxy(one, {mode, listens, facts, settings})),
  ]
  return {
    proxy,
    controller: [namespaceObject, ...own('controller').map((one) => fillController(one, facts, settings))],
    made: {
      ...{namespace, name: 'srcip-proxy'},
      selector: {'app.kubernetes.io/instance': 'srcip', 'srcip.dev/component': 'proxy', 'srcip.dev/path': 'default'},
      ports: listens.map(({port, listen}) => ({port, listen})),
    },
  }
}

const namespaceObject: Manifest = {
  ...{apiVersion: 'v1', kind: 'Namespace'},
  metadata: {name: namespace, labels: {'pod-security.kubernetes.io/enforce': 'restricted'}},
}

function componentOf(manifest: Manifest): string | undefined {
  return (manifest['metadata'] as {readonly labels?: Readonly<Record<string, string>>}).labels?.['srcip.dev/component']
}

/** Above 1024: no capability is needed to listen there. */
function listenPort(port: number, index: number): number {
  if (port === 80) return firstListen
  return port === 443 ? 8443 : 18_080 + index
}

interface ProxyFilling {
  readonly mode: 'auto' | 'always'
  readonly listens: readonly (PairPort & {readonly listen: number})[]
  readonly facts: PairFacts
  readonly settings: PartSettings
}

function fillProxy(manifest: Json, {mode, listens, facts, settings}: ProxyFilling): Json {
  const {service} = facts
  const meta = manifest['metadata'] as Json & {annotations?: Json; namespace?: string}
  const spec = manifest['spec'] as Json
  const servicePorts = listens.map(({port}) => ({
    ...{name: `port-${port}`, port, protocol: 'TCP'},
    targetPort: `port-${port}`,
  }))
  switch (`${String(manifest['kind'])} ${String(componentOf(manifest))}`) {
    case 'Deployment proxy': {
      meta.annotations = {...meta.annotations, 'srcip.dev/send-proxy': mode}
      const pod = podOf(spec, settings)
      const [container] = pod['containers'] as Json[]
      if (container === undefined) break
      const words = (container['args'] as string[]).filter((word) => !/^--(?:to|port|send-proxy)=/.test(word))
      const [command = 'proxy', ...rest] = words
      container['args'] = [
        ...[command, `--to=srcip-proxy-endpoints.${service.namespace}.svc`],
        ...listens.map((one) => `--port=${portWords(one)}`),
        ...[`--send-proxy=${mode}`, ...rest],
      ]
      container['ports'] = [
        ...listens.map(({port, listen}) => ({name: `port-${port}`, containerPort: listen, protocol: 'TCP'})),
        {name: 'health', containerPort: 8081, protocol: 'TCP'},
      ]
      break
    }
    case 'Service proxy':
      meta.annotations = {
        'srcip.dev/feeds': `${service.namespace}/${service.name}`,
        ...(facts.ingressClasses.length > 0 ? {'srcip.dev/ingress-classes': facts.ingressClasses.join(',')} : {}),
      }
      spec['ports'] = servicePorts
      break
    case 'Service endpoints':
      meta.namespace = service.namespace
      spec['selector'] = {...service.selector}
      spec['ports'] = listens.map(({port, podPort}) => ({name: `port-${port}`, port: podPort, protocol: 'TCP'}))
      break
    case 'NetworkPolicy proxy':
      spec['ingress'] = [{ports: [...listens.map(({listen}) => listen), 8081].map((port) => ({port, protocol: 'TCP'}))}]
      break
    default:
  }
  return manifest
}

/** `--port` of the proxy. 80 and 443 tell by themselves how they are probed. */
function portWords({port, podPort, listen, tls}: ProxyFilling['listens'][number]): string {
  const to = podPort === port ? '' : `,to=${podPort}`
  const probe = port === 80 || port === 443 ? '' : `,probe=${tls ? 'tls' : 'http'}`
  return `${port}=${listen}${to}${probe}`
}

function fillController(manifest: Json, facts: PairFacts, settings: PartSettings): Json {
  const meta = manifest['metadata'] as Json & {name: string; namespace?: string}
  if (meta.name === 'srcip-dns') {
    meta.namespace = settings.dns.namespace
    for (const rule of (manifest['rules'] ?? []) as Json[])
      if ((rule['resources'] as string[]).includes('configmaps')) rule['resourceNames'] = [...settings.dns.configMaps]
  }
  if (meta.name === 'srcip-ingress') {
    meta.namespace = facts.service.namespace
    for (const rule of (manifest['rules'] ?? []) as Json[]) rule['resourceNames'] = [facts.service.name]
  }
  if (manifest['kind'] === 'Deployment') {
    const pod = podOf(manifest['spec'] as Json, settings)
    const [container] = pod['containers'] as Json[]
    const classes = facts.ingressClasses.map((name) => `--ingress-class=${name}`)
    if (container !== undefined) container['args'] = [...(container['args'] as string[]), ...classes]
  }
  return manifest
}

/** The pod of a template, with the image in its place. */
function podOf(spec: Json, {image, pullSecrets}: PartSettings): Json {
  const pod = (spec['template'] as {spec: Json}).spec
  for (const container of pod['containers'] as Json[]) container['image'] = image
  if (pullSecrets.length > 0) pod['imagePullSecrets'] = pullSecrets.map((name) => ({name}))
  return pod
}
