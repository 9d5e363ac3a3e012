import {stateOfFile, loadDnsState} from '../../cluster-dns/state.ts'
import type {DnsState} from '../../cluster-dns/types.ts'
import {askPods, simulateQuery} from '../../cluster-dns/view/query.ts'
import type {QuestionType} from '../../cluster-dns/dns/message.ts'
import {readName} from '../../hosts/index.ts'
import type {KubeClient} from '../../kube/index.ts'
import type {CorednsQuery} from '../../model/coredns-view.ts'
import {apiVersion} from '../../model/documents.ts'
import {exitCodes, SrcipError} from '../../model/errors.ts'
import {readGiven} from './given-file.ts'
import {accessOf} from './ports.ts'
import {corednsVersion} from './request.ts'
import {findProxies} from './wanted.ts'

/** Flags of the commands that only read. */
export interface ReadFlagValues {
  readonly filename?: string | undefined
  readonly target?: string | undefined
  readonly 'dns-service'?: string | undefined
  readonly 'coredns-version'?: string | undefined
}

/** Cluster DNS for a command that only reads: from -f (a Corefile or a snapshot), or from the cluster that `open` connects to. */
export async function readDnsState(
  flags: ReadFlagValues,
  open: () => Promise<KubeClient>,
  signal: AbortSignal,
): Promise<DnsState> {
  const version = corednsVersion(flags)
  const given = flags.filename === undefined ? undefined : await readGiven(flags.filename)
  if (given !== undefined && 'corefile' in given) return stateOfFile(flags.filename ?? '-', given.corefile, version)
  const client = given?.client ?? (await open())
  const targets = (await findProxies(client, flags.target, signal))
    .map((proxy) => proxy.target)
    .filter((target) => target.includes('/'))
  return await loadDnsState(client, {service: flags['dns-service'], version, targets, signal})
}

/** `coredns query`: simulated, and asked for real where there is a cluster. 21 when a pod gave no answer. */
export async function queryDns(
  name: string,
  type: QuestionType,
  flags: ReadFlagValues & {readonly via: 'auto' | 'api' | 'direct'},
  open: () => Promise<KubeClient>,
  signal: AbortSignal,
): Promise<CorednsQuery> {
  const read = readName(name)
  if (!read.ok) throw new SrcipError('Usage', `${JSON.stringify(read.name)} is no name to ask for: it ${read.reason}`)
  const state = await readDnsState(flags, open, signal)
  const simulated = simulateQuery(state, read.name, type)
  // A snapshot has pods, but nobody to ask.
  const location = flags.filename === undefined ? state.location : undefined
  const counting = location?.pods.filter((pod) => pod.counting) ?? []
  const pods =
    location === undefined
      ? []
      : await askPods(
          accessOf({client: await open(), via: flags.via}, state, location),
          counting,
          read.name,
          type,
          signal,
        )
  const silent = pods.some((pod) => pod.error !== undefined)
  return {
    apiVersion,
    kind: 'CorednsQuery',
    name: read.name,
    type,
    simulated,
    pods,
    exitCode: silent || (location !== undefined && counting.length === 0) ? exitCodes.NeedsAction : exitCodes.Ok,
    changed: false,
    warnings:
      location !== undefined && counting.length === 0 ? ['no CoreDNS pod is Ready: nothing could be asked'] : [],
  }
}
