import type {KubeObject} from '../../model/kubernetes.ts'

/** A name of an Ingress and the Services behind it. */
export interface HostRoute {
  /** Host as the Ingress writes it; `*.` in front spans one label. */
  readonly host: string
  /** `ingress/NAMESPACE/NAME`. */
  readonly source: string
  /** Services of its backends, `NAMESPACE/NAME`. */
  readonly services: readonly string[]
}

/**
 * Names whose Ingress leads, through Services of type ExternalName, back to the same name: with a rewrite the ingress controller
 * would call itself for ever (and without one it does so by way of the load balancer).
 *
 * @param routes every Ingress rule
 * @param externalNames `NAMESPACE/NAME` of each ExternalName Service to the name it stands for
 * @returns host to the circle, object by object, ending where it began
 */
export function findHostCircles(
  routes: readonly HostRoute[],
  externalNames: ReadonlyMap<string, string>,
): Map<string, string[]> {
  const steps = new Map<string, {readonly to: string; readonly path: readonly string[]}[]>()
  const hosts = new Set(routes.map((route) => normal(route.host)))
  for (const route of routes) {
    for (const service of route.services) {
      const external = externalNames.get(service)
      const to = external === undefined ? undefined : hostOf(normal(external), hosts)
      if (to === undefined) continue
      const path = [route.source, `service/${service} (ExternalName ${external})`]
      steps.set(normal(route.host), [...(steps.get(normal(route.host)) ?? []), {to, path}])
    }
  }
  const circles = new Map<string, string[]>()
  for (const host of hosts) {
    const circle = circleThrough(host, steps)
    if (circle !== undefined) circles.set(host, circle)
  }
  return circles
}

/** Breadth first, so that the shortest circle is told. */
function circleThrough(
  start: string,
  steps: ReadonlyMap<string, readonly {readonly to: string; readonly path: readonly string[]}[]>,
): string[] | undefined {
  const queue: {readonly at: string; readonly path: readonly string[]}[] = [{at: start, path: []}]
  const seen = new Set<string>()
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const step of steps.get(next.at) ?? []) {
      const path = [...next.path, ...step.path]
      if (step.to === start) return path
      if (seen.has(step.to)) continue
      seen.add(step.to)
      queue.push({at: step.to, path})
    }
  }
  return undefined
}

/** The Ingress host that answers a name: itself, or the wildcard one label above. */
function hostOf(name: string, hosts: ReadonlySet<string>): string | undefined {
  if (hosts.has(name)) return name
  const wildcard = `*.${name.slice(name.indexOf('.') + 1)}`
  return hosts.has(wildcard) ? wildcard : undefined
}

function normal(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** The routes of one Ingress: each rule's host with the Services of its paths, or of the default backend. */
export function routesOfIngress(object: KubeObject): HostRoute[] {
  const {namespace = 'default', name} = object.metadata
  const spec = recordOf(object['spec'])
  const fallback = serviceOf(spec['defaultBackend'], namespace)
  return listOf(spec['rules']).flatMap((entry) => {
    const rule = recordOf(entry)
    const host = rule['host']
    if (typeof host !== 'string' || host === '') return []
    const paths = listOf(recordOf(rule['http'])['paths']).flatMap((path) =>
      serviceOf(recordOf(path)['backend'], namespace),
    )
    return [{host, source: `ingress/${namespace}/${name}`, services: paths.length > 0 ? paths : fallback}]
  })
}

function serviceOf(backend: unknown, namespace: string): string[] {
  const name = recordOf(recordOf(backend)['service'])['name']
  return typeof name === 'string' ? [`${namespace}/${name}`] : []
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
