import type {CorednsVersion} from './types.ts'

/** What is assumed when the version of CoreDNS is not known. */
export const defaultVersion: CorednsVersion = {major: 1, minor: 14, patch: 7}

/** Reads `1.14.7`, `v1.14.7`, also with a suffix (`1.11.1-eksbuild.9`); undefined for anything else (`latest`, a digest). */
export function parseVersion(text: string): CorednsVersion | undefined {
  const match = /^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:[-+_.].*)?$/.exec(text.trim())
  if (!match) return undefined
  return {major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3] ?? 0)}
}

/** `1.14.7`. */
export function formatVersion(version: CorednsVersion): string {
  return `${version.major}.${version.minor}.${version.patch}`
}

/** Whether `version` is `text` or newer. */
export function atLeast(version: CorednsVersion, text: string): boolean {
  const [major, minor, patch] = numbersOf(text)
  if (version.major !== major) return version.major > major
  if (version.minor !== minor) return version.minor > minor
  return version.patch >= patch
}

const numbers = new Map<string, readonly [number, number, number]>()

/** The version gates are a handful of constants that are asked for again and again. */
function numbersOf(text: string): readonly [number, number, number] {
  const known = numbers.get(text)
  if (known) return known
  const [major = 0, minor = 0, patch = 0] = text.split('.').map(Number)
  numbers.set(text, [major, minor, patch])
  return [major, minor, patch]
}

/** Plugin order since 1.14.7: rewrite and autopath stand before cache (coredns core/dnsserver/zdirectives.go, tag v1.14.7). */
const rewriteFirst =
  `root metadata geoip cancel proxyproto quic grpc_server https https3 timeouts multisocket reload nsid bufsize bind debug
  trace ready health pprof shed prometheus errors log dnstap local dns64 any chaos loadbalance tsig rewrite autopath acl
  cache header dnssec tls minimal template transfer hosts route53 azure clouddns k8s_external kubernetes file auto
  secondary etcd loop forward grpc erratic whoami on sign view nomad`.split(/\s+/)

/** Plugin order up to 1.14.6: cache stands before rewrite (tag v1.14.6). */
const cacheFirst =
  `root metadata geoip cancel tls proxyproto quic grpc_server https https3 timeouts multisocket reload nsid bufsize bind
  debug trace ready health pprof prometheus errors log dnstap local dns64 any chaos loadbalance tsig cache rewrite acl
  header dnssec autopath minimal template transfer hosts route53 azure clouddns k8s_external kubernetes file auto
  secondary etcd loop forward grpc erratic whoami on sign view nomad`.split(/\s+/)

/** Release that brought a plugin into the list; those without an entry are older than 1.5.0. */
const since: Readonly<Record<string, string>> = {
  ready: '1.5.0',
  cancel: '1.5.0',
  grpc: '1.5.0',
  any: '1.5.1',
  azure: '1.6.2',
  clouddns: '1.6.3',
  sign: '1.6.3',
  acl: '1.6.4',
  transfer: '1.6.5',
  bufsize: '1.6.6',
  dns64: '1.7.0',
  local: '1.8.1',
  minimal: '1.8.4',
  geoip: '1.8.5',
  header: '1.8.5',
  tsig: '1.9.4',
  view: '1.10.0',
  timeouts: '1.10.1',
  multisocket: '1.12.0',
  quic: '1.12.2',
  nomad: '1.13.0',
  grpc_server: '1.14.0',
  https: '1.14.0',
  https3: '1.14.0',
  proxyproto: '1.14.2',
  shed: '1.14.7',
}

/** Plugins that left the list, with the first release without them. */
const until: readonly (readonly [name: string, before: string, follows: string])[] = [
  ['federation', '1.7.0', 'k8s_external'],
  ['proxy', '1.5.0', 'forward'],
]

/**
 * Directive names CoreDNS of that version knows, in the order in which it sets plugins up and runs them. Distribution
 * builds may leave plugins out; what is not compiled in is an error of setup, not of this list.
 */
export function directivesOf(version: CorednsVersion): readonly string[] {
  return tablesOf(version).names
}

/** Position of every plugin in the chain of that version. */
export function pluginOrder(version: CorednsVersion): ReadonlyMap<string, number> {
  return tablesOf(version).order
}

interface Tables {
  readonly names: readonly string[]
  readonly order: ReadonlyMap<string, number>
}

const tables = new Map<string, Tables>()

function tablesOf(version: CorednsVersion): Tables {
  const key = formatVersion(version)
  const known = tables.get(key)
  if (known) return known
  const names = namesOf(version)
  const made = {names, order: new Map(names.map((name, index) => [name, index]))}
  tables.set(key, made)
  return made
}

function namesOf(version: CorednsVersion): string[] {
  const order = atLeast(version, '1.14.7') ? rewriteFirst : cacheFirst
  const names = order.filter((name) => atLeast(version, since[name] ?? '0.0.0'))
  if (!atLeast(version, '1.14.3')) move(names, 'acl', 'any')
  if (!atLeast(version, '1.11.3')) move(names, 'root', 'bind')
  for (const [name, before, follows] of until) {
    if (!atLeast(version, before)) names.splice(names.indexOf(follows) + 1, 0, name)
  }
  return names
}

/** Puts `name` directly before `target` (before `chaos` where `any` does not exist yet). */
function move(names: string[], name: string, target: string): void {
  const from = names.indexOf(name)
  if (from === -1) return
  names.splice(from, 1)
  const to = names.indexOf(target)
  names.splice(to === -1 ? names.indexOf('chaos') : to, 0, name)
}

/** True when a query meets `rewrite` before `cache` (>= 1.14.7). */
export function rewriteBeforeCache(version: CorednsVersion): boolean {
  return atLeast(version, '1.14.7')
}
