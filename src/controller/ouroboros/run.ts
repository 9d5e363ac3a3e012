import {hostsAsOuroboros, projectIngressAsOuroboros} from '../../hosts/index.ts'
import {systemClock} from '../../kube/index.ts'
import type {KubeClient} from '../../kube/index.ts'
import {createControllerMetrics} from '../controller-metrics.ts'
import {interpretOnly} from '../heap-trim.ts'
import {HostsOutput} from '../hosts-output.ts'
import {aborted, Lane} from '../lane.ts'
import {sayLastWords} from '../last-words.ts'
import {createLog} from '../log.ts'
import type {RunOptions, RunProcess} from '../options.ts'
import type {Output} from '../output.ts'
import {serviceOf} from '../published-names.ts'
import {Reconciler} from '../reconciler.ts'
import {Conditions} from '../reports.ts'
import {openClient} from '../run.ts'
import {sourceKinds} from '../source-kinds.ts'
import type {SourceKinds} from '../source-kinds.ts'
import {reportSource} from '../source-reports.ts'
import {Sources} from '../sources.ts'
import {ConfigMapOutput} from './config-map-output.ts'
import type {OuroborosOptions} from './flags.ts'
import {guaranteesOff} from './guarantees.ts'
import {RecordsOutput} from './records-output.ts'

/** The block that ouroboros keeps in a hosts file: `IP NAME`, no comment. */
const hostsForm = {
  begin: '# === BEGIN ouroboros (do not edit by hand) ===',
  end: '# === END ouroboros ===',
  line: (address: string, {name}: {readonly name: string}) => `${address} ${name}`,
  pattern: /^(?<target>\S+)[ \t]+(?<name>\S+)$/,
}

/**
 * `srcip run --compat ouroboros`: what `ouroboros controller` v0.8 does, with its flags, lines, keys and records, inside the rights that its
 * chart gives. Resolves with 0 when the signal has aborted.
 */
export async function runAsOuroboros(
  options: OuroborosOptions,
  process: RunProcess & Pick<RunOptions, 'env' | 'version'>,
): Promise<number> {
  interpretOnly()
  const clock = systemClock
  const log = createLog({level: options.logLevel, format: 'json', write: process.writeLog, wall: () => clock.wall()})
  const metrics = createControllerMetrics()
  const {env, version} = process
  const kube = options.kubeconfig === undefined ? {} : {kubeconfig: options.kubeconfig}
  const client = await openClient({kube, env, version}, metrics, log)
  const {server, namespace} = client.config
  const {mode} = options.output
  log.info('srcip run starts', {version, server, namespace, compat: 'ouroboros', mode})
  log.info('compat ouroboros: these guarantees are off', {off: guaranteesOff(mode)})
  const target = targetOf(options.output, namespace)
  const nobody = {emit: () => undefined}
  const lanes: Lane[] = []
  const conditions = new Conditions(log, nobody)
  const sources = new Sources({
    client,
    families: options.gatewayApi ? ['ingress', 'gateway'] : ['ingress'],
    kinds: kindsOf(),
    proxies: [{target}],
    proxyNamespace: namespace,
    relistMs: 3_600_000,
    clock,
    random: Math.random,
    log,
    onChange: () => {
      for (const lane of lanes) lane.mark()
    },
    onState: (name, status, previous) => reportSource(name, status, previous, conditions, log),
  })
  const {ingressClass, gatewayClass} = options
  const output = outputOf(options.output, client)
  const reconciler = new Reconciler({
    output,
    sources,
    hostOptions: {},
    collect: (objects) => hostsAsOuroboros(objects, {ingressClass, gatewayClass, proxy: {target}}),
    allowEmpty: false,
    dryRun: false,
    clock,
    random: Math.random,
    log,
    conditions: new Conditions(log, nobody),
    events: nobody,
    assertLeader: () => Promise.resolve(),
    onWritten: () => lane.wrote(),
    onProof: () => lane.mark(),
  })
  // Its ConfigMap must not be watched, so somebody's edit is found by looking: as often as ouroboros looks.
  const resyncMs = options.resyncMs > 0 ? options.resyncMs : undefined
  const lane = new Lane({
    name: output.name,
    reconciler,
    clock,
    random: Math.random,
    log,
    metrics,
    ...(resyncMs === undefined ? {} : {resyncMs}),
  })
  lanes.push(lane)
  const quiet = sayLastWords(log)
  try {
    sources.start()
    await Promise.all([lane.work(new AbortController().signal, process.signal), aborted(process.signal)])
    return 0
  } finally {
    log.info('srcip run ends')
    await sources.stop()
    await reconciler.proofs.close()
    client.close()
    quiet()
  }
}

/** Kinds that the chart's ClusterRole lets be read. */
function kindsOf(): SourceKinds {
  const {ingresses, gateways, httproutes} = sourceKinds
  return {ingresses: {...ingresses, project: projectIngressAsOuroboros}, gateways, httproutes}
}

/** The target under which names are known inside the process. */
function targetOf(output: OuroborosOptions['output'], namespace: string): string {
  if ('target' in output) return serviceOf(output.target)
  return output.mode === 'etc-hosts' ? output.proxyIp : `${namespace}/${output.proxyService}`
}

function outputOf(output: OuroborosOptions['output'], client: KubeClient): Output {
  if (output.mode === 'external-dns') {
    const {proxyIp, proxyService: _service, mode: _mode, ...settings} = output
    return new RecordsOutput({
      client,
      settings: {...settings, namespace: output.namespace ?? client.config.namespace},
      proxyIp,
    })
  }
  if (output.mode === 'etc-hosts') {
    return new HostsOutput(client, output.path, false, {form: hostsForm, addresses: [output.proxyIp]})
  }
  return new ConfigMapOutput({client, ...output})
}
