import chartObjects from '../../../charts/objects.json' with {type: 'json'}
import {resources, type KubeClient} from '../../kube/index.ts'
import {readDns} from '../../diagnosis/dns-view.ts'
import {SrcipError} from '../../model/errors.ts'
import {field, record, text} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {Plan} from '../../model/plan.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {records} from '../../platforms/workloads.ts'
import {findPair, type PairFacts} from '../../workflows/generic/pair-facts.ts'
import {pairParts} from '../../workflows/generic/pair-parts.ts'
import {planPair} from '../../workflows/generic/plan-pair.ts'
import type {SwitchFlagValues} from './flags.ts'

/** The plan for one plain pair, or why none is needed. Throws 32 where nothing can be planned, 2 where a flag is missing. */
export async function planGeneric(
  operation: 'enable' | 'disable',
  index: SnapshotIndex,
  flags: SwitchFlagValues,
  {uid, toolVersion, client, signal}: PlanContext,
): Promise<{readonly plan: Plan} | {readonly notNeeded: string}> {
  const facts = await withDeployment(findPair(index, operation, flags.service), client, signal)
  const reason = operation === 'enable' && !facts.asks ? notNeeded(facts) : undefined
  if (reason !== undefined) return {notNeeded: reason}
  const image = flags.image ?? imageInUse(index) ?? ''
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

/** What is changed of a proxy that is there already needs its whole Deployment; a snapshot holds a part. */
async function withDeployment(facts: PairFacts, client: KubeClient, signal: AbortSignal): Promise<PairFacts> {
  const {proxy} = facts
  if (proxy === undefined || proxy.release !== undefined) return facts
  const {namespace, name} = proxy
  const deployment = await client.find<KubeObject>(resources.deployments, {namespace, name}, {signal})
  return deployment === undefined ? facts : {...facts, proxy: {...proxy, deployment}}
}

/** The application sees the client already: a header would add nothing. */
function notNeeded({report, service}: PairFacts): string | undefined {
  const ways = report.paths
  const isFine = ways.every(({outside: {verdict}}) => verdict === 'fine' || verdict === 'not-needed')
  if (ways.length === 0 || !isFine) return undefined
  return `service/${service.namespace}/${service.name}: ${ways[0]?.outside.why ?? 'applications see the client already'}`
}

/** The image of a proxy of ours that runs already. */
function imageInUse(index: SnapshotIndex): string | undefined {
  const proxy = index.list('Deployment', 'apps').find((one) => one.metadata.labels?.['srcip.dev/component'] === 'proxy')
  const template = record(field(record(field(record(proxy?.['spec']), 'template')), 'spec'))
  const [container] = records(field(template, 'containers'))
  return text(field(container ?? {}, 'image'))
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
