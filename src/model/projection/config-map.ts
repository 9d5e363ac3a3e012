import {record} from '../fields.ts'
import {masked, maskNamed} from './mask.ts'
import type {ShapeFields} from './shape.ts'

/** A text of more characters is no setting. */
const longestSetting = 4096

/** Keys that are whole files which are read: Corefiles, component configurations, Traefik's and APISIX's static files. */
const files =
  /^(?:Corefile|NodeHosts|stubDomains|upstreamNameservers|mesh|config|config\.conf|[\w.-]+\.(?:override|server|include)|(?:traefik|config|dynamic|apisix|contour|antrea-agent|antrea-controller|felix)\.(?:ya?ml|toml|json)|antrea-(?:agent|controller)\.conf|net-conf\.json|cni-conf\.json|cni_network_config|ovnkube\.conf|ip-masq-agent|cloud[.-]conf(?:ig)?)$/

/**
 * Settings that say something about addresses, listeners, trust or the data plane, one a key. What is not listed keeps its
 * key (a dead key is a finding) and loses its value.
 */
const settings =
  /^(?:\d+$|use-|enable|disable|compute-full-|forward|real[-_]?ip|set[-_]real|proxy[-_]?(?:protocol|real|stream|set-headers|add-original)|proxy[-_]?Protocol|tcp-|udp-|stats-proxy|src-ip|original-forwarded|xff|http2|ssl-(?:passthrough|redirect|ports?)|tls-passthrough|whitelist|allowlist|denylist|block-cidrs|trusted|allow-snippet|annotations-risk|strict-validate|bind-address|listen|worker|hsts$|load-balance|timeout-|client|server-tokens$|keep-?alive|idle|bpf-|kube-?proxy|routing|tunnel|ipv[46]|masq|non-?[Mm]asq|resyncInterval|gateway|ingress|loadbalancer|lb-|node-?port|external|ipam|cluster|policy-|auto-direct|direct-routing|device|native-routing|cni|identity-|l2-|bgp|dsr|egress|envoy|operator-api|monitor-|mtu|calico_|typha|veth_|net_|proxyall|antrea|netpol|kube[-_]?router|ovn|svc_|host-|hairpin)/i

/** Names that a listed beginning could let through although they hold code or names of Secrets. */
const never = /snippet$|secret|token|password|-cert|certificate|auth-|template$|-key$/i

/**
 * One setting of a controller: its text when it is one that is used, else the mark that it was not read. Key names always
 * stay.
 */
export function projectSetting(key: string, value: string): string {
  if (files.test(key)) return maskNamed(key, value)
  if (key === 'cloud.conf') return balancerLines(value)
  if (value.length > longestSetting || /[\n\r]/.test(value.trim())) return masked
  if (/^(?:true|false|on|off|\d{1,9}[a-z]{0,2})$/i.test(value)) return maskNamed(key, value)
  return settings.test(key) && !never.test(key) ? maskNamed(key, value) : masked
}

/** Of OpenStack's cloud.conf, which may hold passwords, the lines that say what a balancer can do. */
function balancerLines(value: string): string {
  const lines = value
    .split('\n')
    .filter((line) => /^\s*(?:lb-provider|enable-ingress-hostname|ingress-hostname-suffix)\s*=/.test(line))
  return lines.length === 0 ? masked : lines.map((line) => line.trim()).join('\n')
}

/** The settings of a map, by key. Values that are no text (in values of a chart) are kept when they are plain. */
export function projectSettings(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const kept: [string, unknown][] = []
  for (const [key, entry] of Object.entries(value)) {
    if (key === '__proto__') continue
    if (typeof entry === 'string') kept.push([key, projectSetting(key, entry)])
    else if (typeof entry === 'boolean' || typeof entry === 'number') kept.push([key, entry])
  }
  return Object.fromEntries(kept.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
}

/** `binaryData` by key only: `projectConfigMap` of platforms/dns counts its keys as files. */
function keysOnly(value: unknown): unknown {
  return Object.fromEntries(
    Object.keys(record(value))
      .filter((key) => key !== '__proto__')
      .sort()
      .map((key) => [key, '']),
  )
}

export const configMapShape: ShapeFields = {
  data: projectSettings,
  binaryData: keysOnly,
  immutable: 'scalar',
}
