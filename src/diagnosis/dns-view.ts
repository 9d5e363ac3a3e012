import {
  compileServer,
  parseCorefile,
  parseVersion,
  simulateOn,
  type CompiledServer,
} from '../../plugins/coredns/src/index.ts'
import {SrcipError} from '../model/errors.ts'
import type {SnapshotIndex} from '../model/snapshot.ts'
import {locateClusterDns, type DnsLocation} from '../platforms/dns/locate.ts'
import {detectNodeLocalDns, type NodeLocalDns} from '../platforms/dns/node-local.ts'
import {projectDnsObjects, type DnsObjects} from '../platforms/dns/objects.ts'

/** Cluster DNS as far as a snapshot shows it. */
export interface DnsView {
  readonly location: DnsLocation | undefined
  /** Why there is none. */
  readonly problem: string | undefined
  readonly nodeLocal: NodeLocalDns | undefined
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
  const server = location === undefined ? undefined : compile(location)
  const known = new Map<string, string | undefined>()
  return {
    location,
    problem,
    nodeLocal,
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

function compile(location: DnsLocation): CompiledServer | undefined {
  const encoder = new TextEncoder()
  const files = new Map(location.files.map((file) => [file.path, encoder.encode(file.text ?? '')]))
  const version = parseVersion(location.container.version ?? '')
  const parsed = parseCorefile(encoder.encode(location.corefile.text), {
    path: location.corefilePath,
    files,
    imports: 'unknown',
    ...(version === undefined ? {} : {version}),
  })
  return parsed.error === undefined ? compileServer(parsed) : undefined
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
