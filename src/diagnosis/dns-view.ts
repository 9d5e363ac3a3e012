import {
  compileServer,
  hasReload,
  parseCorefile,
  parseVersion,
  simulateOn,
  type CompiledServer,
  type ParsedCorefile,
} from '../../plugins/coredns/src/index.ts'
import {SrcipError} from '../model/errors.ts'
import type {SnapshotIndex} from '../model/snapshot.ts'
import {locateClusterDns, type DnsLocation} from '../platforms/dns/locate.ts'
import {detectNodeLocalDns, type NodeLocalDns} from '../platforms/dns/node-local.ts'
import {projectDnsObjects, type DnsObjects} from '../platforms/dns/objects.ts'

/** A rewrite of a name to a Service, as it stands in the Corefile or an imported key. */
export interface NameRule {
  readonly name: string
  /** `NAMESPACE/NAME` of the Service. */
  readonly target: string
  /** Where the line stands: path of the file in the container, and the line. */
  readonly file: string
  readonly line: number
}

/** Cluster DNS as far as a snapshot shows it. */
export interface DnsView {
  readonly location: DnsLocation | undefined
  /** Why there is none. */
  readonly problem: string | undefined
  readonly nodeLocal: NodeLocalDns | undefined
  /** node-local-dns answers public names without asking CoreDNS, so rewrites there are never seen. */
  readonly bypassed: boolean
  readonly parsed: ParsedCorefile | undefined
  readonly reloads: boolean
  readonly rules: readonly NameRule[]
  /**
   * The Service that in-cluster clients are led to by a rewrite of this name, `NAMESPACE/NAME`; undefined when the name is
   * not rewritten to a Service, or cluster DNS was not read.
   */
  leadsTo(name: string): string | undefined
}

/** Locates cluster DNS and makes its Corefile ready for questions. Never throws. */
export function readDns(index: SnapshotIndex): DnsView {
  const objects = projectDnsObjects(index.snapshot.objects)
  const [location, problem] = locate(objects)
  const nodeLocal = location?.nodeLocal ?? detectNodeLocalDns(objects, [])
  const parsed = location === undefined ? undefined : parse(location)
  const server = parsed === undefined || parsed.error !== undefined ? undefined : compileServer(parsed)
  const known = new Map<string, string | undefined>()
  return {
    location,
    problem,
    nodeLocal,
    bypassed: nodeLocal !== undefined && !asksClusterDns(nodeLocal),
    parsed,
    reloads: parsed !== undefined && hasReload(parsed),
    rules: location === undefined ? [] : rulesOf(location),
    leadsTo(name) {
      if (!known.has(name)) known.set(name, server === undefined ? undefined : target(server, location, name))
      return known.get(name)
    },
  }
}

function locate(objects: DnsObjects): [DnsLocation | undefined, string | undefined] {
  try {
    return [locateClusterDns(objects), undefined]
  } catch (error) {
    if (error instanceof SrcipError) return [undefined, error.message]
    throw error
  }
}

function parse(location: DnsLocation): ParsedCorefile {
  const encoder = new TextEncoder()
  const files = new Map(location.files.map((file) => [file.path, encoder.encode(file.text ?? '')]))
  const version = parseVersion(location.container.version ?? '')
  return parseCorefile(encoder.encode(location.corefile.text), {
    path: location.corefilePath,
    files,
    imports: 'unknown',
    ...(version === undefined ? {} : {version}),
  })
}

function target(server: CompiledServer, location: DnsLocation | undefined, name: string): string | undefined {
  const asked = name.startsWith('*.') ? `srcip-sample.${name.slice(2)}` : name
  const {seen, question} = simulateOn(server, {
    name: asked,
    ...(location === undefined ? {} : {listener: {port: String(location.dnsPort)}}),
  })
  if (seen === null || seen.name === question.name) return undefined
  const [service, namespace, svc] = seen.name.toLowerCase().split('.')
  return svc === 'svc' && service !== undefined && namespace !== undefined ? `${namespace}/${service}` : undefined
}

/** Lines `rewrite name [exact] HOST SERVICE.NAMESPACE.svc.…` of every file, whether a query meets them or not. */
function rulesOf(location: DnsLocation): NameRule[] {
  const texts = new Map([[location.corefilePath, location.corefile.text]])
  for (const file of location.files) if (file.text !== undefined) texts.set(file.path, file.text)
  const rule = /^\s*rewrite\s+(?:stop\s+|continue\s+)?name\s+(?:exact\s+)?(\S+)\s+([a-z0-9-]+)\.([a-z0-9-]+)\.svc\.\S+/i
  return [...texts].flatMap(([file, text]) =>
    text.split('\n').flatMap((line, at) => {
      const match = rule.exec(line)
      if (match === null) return []
      const [, name = '', service = '', namespace = ''] = match
      return [{name: name.replace(/\.$/, ''), target: `${namespace}/${service}`.toLowerCase(), file, line: at + 1}]
    }),
  )
}

/** Does the catch-all block of the node cache forward to cluster DNS? Without its template nobody knows, and the usual one does not. */
function asksClusterDns({template, addresses}: NodeLocalDns): boolean {
  if (template === undefined) return false
  let depth = 0
  let inRoot = false
  for (const line of template.split('\n')) {
    if (depth === 0) inRoot = /^\s*\.(?::53)?\s*\{/.test(line)
    const forward = /^\s*forward\s+\.\s+(.+)$/.exec(line)
    if (inRoot && forward !== null) {
      const to = (forward[1] ?? '').split(/\s+/)
      return to.some(
        (word) => word === '__PILLAR__CLUSTER__DNS__' || (addresses.includes(word) && !word.startsWith('169.254.')),
      )
    }
    depth += (line.match(/\{(?:\s|$)/g) ?? []).length - (line.match(/(?:^|\s)\}/g) ?? []).length
  }
  return false
}
