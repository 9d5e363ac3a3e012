import {lookup} from 'node:dns/promises'
import chartObjects from '../../../charts/objects.json' with {type: 'json'}
import {resources, type KubeClient} from '../../kube/index.ts'
import {readDns} from '../../diagnosis/dns-view.ts'
import {SrcipError} from '../../model/errors.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {Plan} from '../../model/plan.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {projectWorkload} from '../../platforms/dns/objects.ts'
import {goesThroughIngress} from '../../workflows/generic/api-path.ts'
import {findPair, type PairFacts} from '../../workflows/generic/pair-facts.ts'
import {pairParts} from '../../workflows/generic/pair-parts.ts'
import {planPair} from '../../workflows/generic/plan-pair.ts'
import {ownerOf} from '../../workflows/owner.ts'
import type {SwitchFlagValues} from './flags.ts'

/** The plan for one plain pair, or why none is needed. Throws 32 where nothing can be planned, 2 where a flag is missing. */
export async function planGeneric(
  operation: 'enable' | 'disable',
  index: SnapshotIndex,
  flags: SwitchFlagValues,
  {uid, toolVersion, client, signal}: PlanContext,
): Promise<{readonly plan: Plan} | {readonly notNeeded: string}> {
  const facts = await inFull(findPair(index, operation, flags.service), client, signal)
  const reason = operation === 'enable' && !facts.asks ? notNeeded(facts) : undefined
  if (reason !== undefined) return {notNeeded: reason}
  const image = flags.image ?? imageInUse(index) ?? ''
  const isFlipped = operation === 'enable' ? facts.asks : !facts.asks
  const warnings = isFlipped ? [] : ownerWarnings(facts, flags.force)
  if (!isFlipped && !flags['api-path-is-direct']) await assertDirect(client.config.server, facts)
  const parts = pairParts(chartObjects, facts, {image, dns: dnsPlace(index), pullSecrets: flags['pull-secret'] ?? []})
  const plan = planPair(operation, facts, parts, {
    ...{clusterUid: uid, toolVersion, inputs: inputsOf(flags)},
    guard: flags['no-guard']
      ? undefined
      : {
          namespace: facts.proxy?.namespace ?? parts.made.namespace,
          ...{image, windowSeconds: Math.ceil((flags['guard-window'] ?? 120_000) / 1000)},
        },
    settleSeconds: Math.ceil((flags.settle ?? 30_000) / 1000),
    warnings,
  })
  if (image === '' && plan.steps.some(({operation: {op}}) => op === 'apply'))
    throw new SrcipError('Usage', 'the plan installs objects of ours, and their image is not known', {
      hints: ['--image REPOSITORY@sha256:… names it; --no-guard does without the guard where the rest is installed'],
    })
  return {plan}
}

interface PlanContext {
  readonly uid: string
  readonly toolVersion: string
  readonly client: KubeClient
  readonly signal: AbortSignal
}

/** What is changed is read in full; a snapshot holds a part. */
async function inFull(facts: PairFacts, client: KubeClient, signal: AbortSignal): Promise<PairFacts> {
  const {proxy, config} = facts
  const {namespace, name} = config
  const object = await client.get<KubeObject>(resources.configMaps, {namespace, name}, {signal})
  const whole = {...facts, config: {...config, object}}
  if (proxy === undefined || proxy.release !== undefined) return whole
  const key = {namespace: proxy.namespace, name: proxy.name}
  const deployment = await client.find<KubeObject>(resources.deployments, key, {signal})
  return deployment === undefined ? whole : {...whole, proxy: {...proxy, deployment}}
}

/**
 * A value that another tool would put back is not written behind its back (32). With --force it is, and the plan says how long that
 * lasts.
 */
function ownerWarnings({config: {namespace, name, object}}: PairFacts, force: boolean): string[] {
  const owner = ownerOf(object)
  if (owner === undefined) return []
  const text = `configmap/${namespace}/${name} belongs to ${owner.tool} (${owner.name})`
  if (force) return [`${text}: the write lasts ${owner.lasts}; ${owner.instead}`]
  throw new SrcipError('Precondition', `${text}, which would put the value back`, {
    object: `configmap/${namespace}/${name}`,
    hints: [owner.instead, `--force writes it all the same: that lasts ${owner.lasts}`],
  })
}

/** A flip must not cut off the one who makes it: the API server has to be reached past the ingress (32). */
async function assertDirect(server: string, facts: PairFacts): Promise<void> {
  const host = new URL(server).hostname.replace(/^\[|\]$/g, '')
  const found = await lookup(host, {all: true}).catch(() => [])
  const resolved = found.map(({address}) => address)
  if (!goesThroughIngress(server, resolved, facts)) return
  throw new SrcipError(
    'Precondition',
    `the API server ${server} is reached through the ingress that is to be switched: the flip would cut this run off`,
    {hints: ['choose a context whose server is reached directly', '--api-path-is-direct if that is not so']},
  )
}

/** The application sees the client already: a header would add nothing. */
function notNeeded({ways, service}: PairFacts): string | undefined {
  const isFine = ways.every(({outside: {verdict}}) => verdict === 'fine' || verdict === 'not-needed')
  if (ways.length === 0 || !isFine) return undefined
  return `service/${service.namespace}/${service.name}: ${ways[0]?.outside.why ?? 'applications see the client already'}`
}

/** The image of a proxy of ours that runs already. */
function imageInUse(index: SnapshotIndex): string | undefined {
  const proxy = index.list('Deployment', 'apps').find((one) => one.metadata.labels?.['srcip.dev/component'] === 'proxy')
  return proxy === undefined ? undefined : projectWorkload(proxy).spec.containers[0]?.image || undefined
}

/** The ConfigMaps that cluster DNS is read from: the controller may write these and no others. */
function dnsPlace(index: SnapshotIndex): {readonly namespace: string; readonly configMaps: readonly string[]} {
  const {location, problem} = readDns(index)
  if (location === undefined)
    throw new SrcipError('Precondition', `cluster DNS is not found: ${problem ?? 'nothing looks like it'}`, {
      hints: ['kubectl srcip coredns show'],
    })
  const imported = location.files.map(({configMap}) => configMap)
  return {namespace: location.namespace, configMaps: [...new Set([location.corefile.configMap, ...imported])]}
}

function inputsOf(flags: SwitchFlagValues): Readonly<Record<string, string>> {
  return {
    ...(flags.service === undefined ? {} : {service: flags.service}),
    ...(flags.image === undefined ? {} : {image: flags.image}),
    ...(flags['no-guard'] ? {'no-guard': 'true'} : {}),
  }
}
