import {readFile} from 'node:fs/promises'
import {findHostCircles, routesOfIngress} from '../../cluster-dns/plan/circles.ts'
import type {PlanHost} from '../../cluster-dns/plan/request.ts'
import {
  collectHosts,
  isExcludedBy,
  projectIngress,
  projectIngressClass,
  projectProxyService,
  projectTargetService,
  readName,
  similarServices,
  type ProxyService,
} from '../../hosts/index.ts'
import {hasStatus, resources, type KubeClient} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {ExcludedHost} from '../../model/hosts.ts'
import {readGatewayObjects} from './gateway-objects.ts'

/** Default proxy Service (design.md 5, "Target"). */
export const defaultTarget = 'srcip/srcip-proxy'

/** Flags that say which names are wanted. */
export interface HostFlagValues {
  readonly host?: readonly string[] | undefined
  readonly 'hosts-file'?: string | undefined
  readonly exclude?: readonly string[] | undefined
  readonly 'ingress-class'?: readonly string[] | undefined
  readonly target?: string | undefined
}

/** The whole wanted set and what goes with it. */
export interface Wanted {
  readonly hosts: readonly PlanHost[]
  /** Names given that are none. */
  readonly invalid: readonly {readonly name: string; readonly reason: string}[]
  /** Every proxy Service of ours. */
  readonly targets: readonly string[]
  readonly spared: readonly string[]
  readonly circles: ReadonlyMap<string, readonly string[]>
  /** Names that objects ask for and that are not wanted, each with the reason; the warnings say the same. */
  readonly excluded: readonly ExcludedHost[]
  readonly warnings: readonly string[]
}

/** True when the flags themselves name hosts. */
export function namesHosts(flags: HostFlagValues): boolean {
  return (flags.host ?? []).length > 0 || flags['hosts-file'] !== undefined
}

/** The wanted set out of --host and --hosts-file, for one target. Names that are none are kept apart: the plan refuses them one by one. */
export async function wantedFromFlags(flags: HostFlagValues, target: string): Promise<Wanted> {
  const given = [
    ...(flags.host ?? []),
    ...(flags['hosts-file'] === undefined ? [] : await readHostsFile(flags['hosts-file'])),
  ]
  const exclude = (flags.exclude ?? []).map((spelling) => {
    const read = readName(spelling.startsWith('.') ? `*${spelling}` : spelling)
    if (!read.ok) throw new SrcipError('Usage', `--exclude ${spelling}: ${read.reason}`)
    return read.name
  })
  const hosts = new Map<string, PlanHost>()
  const invalid: {name: string; reason: string}[] = []
  const excluded: ExcludedHost[] = []
  for (const spelling of given) {
    const read = readName(spelling)
    const name = read.name
    if (!read.ok) {
      invalid.push({name, reason: read.reason})
      continue
    }
    const pattern = exclude.find((each) => isExcludedBy(name, each))
    if (pattern !== undefined) {
      excluded.push({name, reason: `excluded by --exclude ${pattern}`, source: 'flag'})
      continue
    }
    hosts.set(name, {name, kind: read.wildcard ? 'wildcard-one-label' : 'exact', target})
  }
  return {
    hosts: [...hosts.values()],
    invalid,
    targets: [target],
    spared: exclude.filter((name) => !name.startsWith('*')),
    circles: new Map(),
    excluded,
    warnings: excluded.map(leftOutLine),
  }
}

function leftOutLine({name, source, reason}: ExcludedHost): string {
  return `${name === '' ? source : `${name} (${source})`} is left out: ${reason}`
}

async function readHostsFile(path: string): Promise<string[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SrcipError(
      'Usage',
      `cannot read --hosts-file ${path}: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`,
      {object: path},
    )
  })
  return text
    .split(/\r?\n/)
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '')
}

/** The wanted set out of the cluster's Ingresses and routes, or out of the flags with the cluster's proxy Services as targets. */
export async function wantedFromCluster(
  client: KubeClient,
  flags: HostFlagValues,
  signal: AbortSignal,
): Promise<Wanted> {
  const proxies = await findProxies(client, flags.target, signal)
  const targets = proxies.map((proxy) => proxy.target)
  const hints = await meantTarget(client, flags.target, proxies, signal)
  if (namesHosts(flags)) {
    const [only, ...others] = targets
    if (only === undefined || others.length > 0) {
      throw new SrcipError('Usage', `--host needs --target: there are several proxy Services (${targets.join(', ')})`)
    }
    const wanted = await wantedFromFlags(flags, only)
    return {...wanted, warnings: [...hints, ...wanted.warnings]}
  }
  const [ingresses, classes, gateways, services] = await Promise.all([
    client.list(resources.ingresses, {signal}),
    client.list(resources.ingressClasses, {signal}),
    readGatewayObjects(client, signal),
    client.list(resources.services, {signal, fieldSelector: 'spec.type=ExternalName'}).catch((error: unknown) => {
      if (hasStatus(error, 403)) return undefined
      throw error
    }),
  ])
  const set = collectHosts(
    {
      ...gateways,
      ingresses: ingresses.items.flatMap((item) => projectIngress(item) ?? []),
      ingressClasses: classes.items.flatMap((item) => projectIngressClass(item) ?? []),
    },
    {proxies, ingressClasses: flags['ingress-class'] ?? [], exclude: flags.exclude ?? []},
  )
  const externalNames = new Map(
    (services?.items ?? []).map((item) => [
      `${item.metadata.namespace ?? ''}/${item.metadata.name}`,
      externalNameOf(item['spec']),
    ]),
  )
  return {
    hosts: set.hosts.map(({name, kind, target}) => ({name, kind, target})),
    invalid: [],
    targets,
    spared: [
      ...new Set(set.excluded.map((entry) => entry.name).filter((name) => name !== '' && !name.startsWith('*'))),
    ],
    circles: findHostCircles(ingresses.items.flatMap(routesOfIngress), externalNames),
    excluded: set.excluded,
    warnings: [
      ...hints,
      ...set.warnings,
      ...set.excluded.map(leftOutLine),
      ...(services === undefined
        ? [
            'circles through ExternalName Services are not looked for: listing services of all namespaces is not allowed',
          ]
        : []),
    ],
  }
}

function externalNameOf(spec: unknown): string {
  const name = typeof spec === 'object' && spec !== null ? (spec as {externalName?: unknown}).externalName : undefined
  return typeof name === 'string' ? name : ''
}

/** The proxy Services: the one that is named, else those with our label, else the default. */
export async function findProxies(
  client: KubeClient,
  target: string | undefined,
  signal: AbortSignal,
): Promise<ProxyService[]> {
  if (target !== undefined) return [await readProxy(client, target, signal)]
  const labelled = await client
    .list(resources.services, {signal, labelSelector: 'srcip.dev/component=proxy'})
    .catch((error: unknown) => {
      if (hasStatus(error, 403)) return undefined
      throw error
    })
  const found = (labelled?.items ?? []).flatMap((item) => projectProxyService({...item, kind: 'Service'}) ?? [])
  return found.length > 0 ? found : [await readProxy(client, defaultTarget, signal)]
}

/** What a --target that does not exist may have been meant for: the plan refuses it, and a person has to find the right one (B38). */
async function meantTarget(
  client: KubeClient,
  target: string | undefined,
  proxies: readonly ProxyService[],
  signal: AbortSignal,
): Promise<string[]> {
  // A Service that was read has ports, if only none.
  if (target === undefined || !target.includes('/') || proxies.some(({ports}) => ports !== undefined)) return []
  const services = await client.list(resources.services, {signal}).catch((error: unknown) => {
    if (hasStatus(error, 403)) return undefined
    throw error
  })
  const names = (services?.items ?? []).map(({metadata: {namespace = '', name}}) => ({namespace, name}))
  const alike = similarServices(target, names)
  return alike.length === 0 ? [] : [`service/${target} does not exist; did you mean ${alike.join(' or ')}?`]
}

async function readProxy(client: KubeClient, target: string, signal: AbortSignal): Promise<ProxyService> {
  const [namespace, name, ...rest] = target.split('/')
  if (!namespace || !name || rest.length > 0) return {target}
  const object = await client.find(resources.services, {namespace, name}, {signal})
  return (object === undefined ? undefined : projectTargetService(object)) ?? {target}
}
