import {present, type FieldChange, type PlanProof, type PlanStep} from '../../model/plan.ts'
import {asProof, type ReceiverPort} from '../../model/proofs.ts'
import {records} from '../../platforms/workloads.ts'
import {readField} from '../engine/fields.ts'
import {objectOfManifest as refOf} from '../engine/reverse.ts'
import type {GuardSettings} from './guard-steps.ts'
import {balancerLines} from './instructions.ts'
import type {ExistingProxy, PairFacts} from './pair-facts.ts'

export type Manifest = Readonly<Record<string, unknown>>

/** Objects of ours that the plan applies: the chart's, rendered for this pair. */
export interface PairParts {
  /** In the order they are applied, the namespace first. */
  readonly proxy: (mode: 'auto' | 'always') => readonly Manifest[]
  readonly controller: readonly Manifest[]
  /** The proxy that these objects make. */
  readonly made: Pick<ExistingProxy, 'namespace' | 'name' | 'selector' | 'ports'>
}

export interface PairOptions {
  readonly clusterUid: string
  readonly toolVersion: string
  /** Flags that shaped the plan. */
  readonly inputs: Readonly<Record<string, string>>
  /** What undoes the flip when nobody confirms it; undefined: `--no-guard`. */
  readonly guard: GuardSettings | undefined
  /** Seconds that answers of before may live on in caches. */
  readonly settleSeconds: number
  readonly warnings: readonly string[]
}

function hostOf({hosts}: PairFacts): string {
  return hosts[0] ?? 'srcip-probe.invalid'
}

function podPorts(facts: PairFacts): ReceiverPort[] {
  return facts.service.ports.map(({podPort, tls}) => ({port: podPort, tls, host: hostOf(facts)}))
}

function outerPorts(facts: PairFacts): (ReceiverPort & {readonly podPort: number})[] {
  return facts.service.ports.map(({port, podPort, tls}) => ({port, podPort, tls, host: hostOf(facts)}))
}

function throughProxy(facts: PairFacts, proxy: PairParts['made']): PlanProof {
  const ports = facts.service.ports.flatMap(({port, tls}) => {
    const listen = proxy.ports.find((one) => one.port === port)?.listen
    return listen === undefined ? [] : [{port: listen, tls, host: hostOf(facts)}]
  })
  return asProof({
    proof: 'through-proxy',
    title: 'callers inside get an answer through the proxy',
    ...{namespace: proxy.namespace, selector: proxy.selector, ports},
  })
}

/** The proxy in one mode; `from` is the mode that an earlier step of the plan has left it in. */
export function proxyStep(
  facts: PairFacts,
  parts: PairParts,
  {id, mode, from}: {readonly id: string; readonly mode: 'auto' | 'always'; readonly from?: 'auto' | 'always'},
): PlanStep {
  const proxy = facts.proxy ?? parts.made
  const words = mode === 'auto' ? 'follows each pod of the receiver' : 'always sends the header'
  const ready = (text: string): PlanProof =>
    asProof({proof: 'deployment', title: text, namespace: proxy.namespace, name: proxy.name})
  const {release} = facts.proxy ?? {}
  const other = mode === 'auto' ? 'always' : 'auto'
  const sends = (value: 'auto' | 'always'): PlanProof =>
    asProof({
      proof: 'field',
      title: `the proxy runs with --send-proxy=${value}`,
      object: deploymentRef(proxy),
      path: ['metadata', 'annotations', 'srcip.dev/send-proxy'],
      equals: present(value),
    })
  if (release !== undefined)
    return {
      ...{id, title: `release ${release}: the proxy ${words}`, action: 'manual', operation: {op: 'none'}},
      proofs: [sends(mode), ready('the proxy has rolled out')],
      limitSeconds: 0,
      instructions: [
        `helm upgrade ${release} CHART -n ${proxy.namespace} --reuse-values --set-json 'paths=[…"sendProxy":"${mode}"…]'`,
        'the release is yours: this tool does not change what Helm has installed',
      ],
      ...{reversible: true, onFailure: 'stop'},
      undo: {
        title: `release ${release}: the proxy as before`,
        proofs: [sends(other)],
        limitSeconds: 0,
        instructions: [`helm rollback ${release} -n ${proxy.namespace}`],
      },
    }
  const existing = facts.proxy
  const common = {
    proofs: [ready('the proxy has rolled out and every pod is ready')],
    limitSeconds: 300,
    instructions: [],
    reversible: true,
    onFailure: 'stop',
  } as const
  const asBefore = {
    title: 'the proxy as before',
    proofs: [ready('the proxy has rolled out and every pod is ready')],
    ...{limitSeconds: 300, instructions: []},
  }
  if (existing !== undefined) {
    const operation = modePatch(existing, from ?? existing.mode, mode)
    return {
      ...{id, title: `the proxy ${words}`, action: operation.op === 'none' ? 'wait' : 'update', operation, ...common},
      ...(operation.op === 'none' ? {} : {risk: streamsEnd, undo: asBefore}),
    }
  }
  const isFirst = from === undefined
  return {
    ...{id, title: `the proxy ${words}`, action: isFirst ? 'create' : 'update', ...common},
    operation: {
      ...{op: 'apply', manifests: [...parts.proxy(mode)]},
      ...(isFirst ? {} : {previous: [...parts.proxy(from)]}),
    },
    undo: isFirst ? {title: 'the proxy is taken away', proofs: [], limitSeconds: 120, instructions: []} : asBefore,
  }
}

/** A pod that is replaced serves new connections until its Service has forgotten it, and old ones until its time to drain is over. */
const streamsEnd =
  'pods of the proxy are replaced: streams through them that are older than its --drain-timeout (25 s) are cut'

/** Of a proxy that somebody else has installed, only the one argument is changed, and the annotation that tells of it. */
function modePatch(proxy: ExistingProxy, from: 'auto' | 'always', to: 'auto' | 'always'): PlanStep['operation'] {
  const {deployment} = proxy
  if (from === to || deployment === undefined) return {op: 'none'}
  const path = ['spec', 'template', 'spec', 'containers']
  const live = readField(deployment, path)
  if ('absent' in live) return {op: 'none'}
  const containers = (mode: 'auto' | 'always'): unknown =>
    records(live.value).map((container, index) => (index === 0 ? withMode(container, mode) : container))
  const key = 'srcip.dev/send-proxy'
  const annotated = readField(deployment, ['metadata', 'annotations', key])
  const annotation = (mode: 'auto' | 'always') => (mode === proxy.mode ? annotated : present(mode))
  return {
    op: 'patch',
    object: deploymentRef(proxy),
    uid: deployment.metadata.uid ?? '',
    fields: [
      {path, before: from === proxy.mode ? live : present(containers(from)), after: present(containers(to))},
      {path: ['metadata', 'annotations', key], before: annotation(from), after: present(to)},
    ],
  }
}

function withMode(container: Readonly<Record<string, unknown>>, mode: 'auto' | 'always'): unknown {
  const words = Array.isArray(container['args']) ? (container['args'] as unknown[]) : []
  const flag = `--send-proxy=${mode}`
  const isFlag = (word: unknown): boolean => typeof word === 'string' && word.startsWith('--send-proxy=')
  const args = words.some(isFlag) ? words.map((word) => (isFlag(word) ? flag : word)) : [...words, flag]
  return {...container, args}
}

function deploymentRef({namespace, name}: {readonly namespace: string; readonly name: string}) {
  return {group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment', namespace, name}
}

export function configRef({config: {namespace, name}}: PairFacts) {
  return {group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespace, name}
}

function dnsProof(facts: PairFacts, proxy: {namespace: string; name: string}, answer: 'proxy' | 'other'): PlanProof {
  const target = `${proxy.namespace}/${proxy.name}`
  return asProof({
    proof: 'dns',
    title:
      answer === 'proxy'
        ? 'every CoreDNS pod sends the names to the proxy'
        : 'no CoreDNS pod sends a name to the proxy any more',
    hosts: facts.hosts.map((name) => ({name, target})),
    answer,
  })
}

export function namesStep(facts: PairFacts, proxy: {namespace: string; name: string}): PlanStep {
  return {
    ...{id: 'names', title: 'the names lead to the proxy', action: 'wait', operation: {op: 'none'}},
    proofs: [dnsProof(facts, proxy, 'proxy')],
    limitSeconds: 600,
    instructions: [],
    ...{reversible: true, onFailure: 'stop'},
  }
}

export function controllerStep(facts: PairFacts, parts: PairParts): PlanStep {
  const [deployment] = parts.controller.filter((one) => one['kind'] === 'Deployment')
  const {name = '', namespace = ''} = (deployment?.['metadata'] ?? {}) as {name?: string; namespace?: string}
  return {
    ...{id: 'controller', title: 'the controller keeps the names in cluster DNS', action: 'create'},
    operation: {op: 'apply', manifests: [...parts.controller]},
    proofs: [
      asProof({proof: 'deployment', title: 'the controller has rolled out', namespace, name}),
      ...(facts.hosts.length > 0 ? [dnsProof(facts, facts.proxy ?? parts.made, 'proxy')] : []),
    ],
    limitSeconds: 300,
    instructions: [],
    ...{reversible: true, onFailure: 'stop'},
    undo: {
      title: 'the controller is taken away',
      proofs: parts.controller.flatMap(podsGone),
      limitSeconds: 120,
      instructions: [],
    },
  }
}

export function balancerStep(facts: PairFacts, sends: 'header' | 'plain'): PlanStep {
  const {namespace, selector} = facts.service
  const proof = (what: 'header' | 'plain'): PlanProof =>
    asProof({
      proof: 'balancer',
      title: what === 'header' ? 'the balancer sends the PROXY header' : 'the balancer sends no PROXY header',
      sends: what,
      addresses: facts.addresses,
      ports: outerPorts(facts),
      ...{namespace, selector},
    })
  const back = sends === 'header' ? 'plain' : 'header'
  return {
    id: 'balancer',
    title: sends === 'header' ? 'the balancer sends the PROXY header' : 'the balancer sends no PROXY header any more',
    ...{action: 'manual', operation: {op: 'none'}},
    proofs: [proof(sends)],
    limitSeconds: 0,
    instructions: balancerLines(facts, sends),
    risk: 'outside traffic fails from here until the next step is done',
    ...{reversible: true, onFailure: 'stop'},
    undo: {
      title:
        back === 'header' ? 'the balancer sends the PROXY header again' : 'the balancer sends no PROXY header again',
      proofs: [proof(back)],
      limitSeconds: 0,
      instructions: balancerLines(facts, back),
    },
  }
}

export function receiverStep(
  facts: PairFacts,
  proxy: PairParts['made'] | undefined,
  flip: FieldChange,
  header: 'required' | 'refused',
): PlanStep {
  const {service, config} = facts
  const mode = (what: 'required' | 'refused'): PlanProof =>
    asProof({
      proof: 'receiver',
      title: what === 'required' ? 'every pod demands the header' : 'every pod takes plain connections',
      ...{namespace: service.namespace, selector: service.selector},
      ports: podPorts(facts).map((port) => ({...port, header: what})),
    })
  const inside = proxy === undefined || facts.hosts.length === 0 ? [] : [throughProxy(facts, proxy)]
  const outside =
    facts.addresses.length === 0
      ? []
      : [
          asProof({
            proof: 'outside',
            title: 'clients outside get an answer',
            addresses: facts.addresses,
            ports: outerPorts(facts),
          }),
        ]
  return {
    id: 'receiver',
    title: header === 'required' ? 'the receiver demands the header' : 'the receiver takes plain connections',
    action: 'update',
    operation: {
      op: 'patch',
      object: configRef(facts),
      uid: config.object.metadata.uid ?? '',
      fields: [flip],
    },
    proofs: [mode(header), ...outside, ...inside],
    limitSeconds: 60,
    instructions: [],
    risk: 'from here on connections without the right beginning are refused',
    ...{reversible: true, onFailure: 'undo'},
    undo: {
      title:
        header === 'required' ? 'the receiver takes plain connections again' : 'the receiver demands the header again',
      proofs: [mode(header === 'required' ? 'refused' : 'required')],
      limitSeconds: 60,
      instructions: [],
    },
  }
}

/** The names go in by our own hand first, so that they have a way back of their own; the controller finds them and keeps them. */
export function dnsInStep(facts: PairFacts, proxy: {namespace: string; name: string}, options: PairOptions): PlanStep {
  const target = `${proxy.namespace}/${proxy.name}`
  return {
    ...{id: 'names', title: 'the names lead to the proxy', action: 'update'},
    operation: {
      op: 'dns',
      before: {owner: 'srcip', hosts: [...facts.standing]},
      after: {owner: 'srcip', hosts: facts.hosts.map((name) => ({name, target}))},
    },
    proofs: [dnsProof(facts, proxy, 'proxy')],
    // a DNS change takes 30 to 130 s a pod (design.md 6)
    limitSeconds: 600,
    instructions: [],
    ...{reversible: true, onFailure: 'stop'},
    undo: {
      title: 'the names leave cluster DNS',
      proofs: [
        ...(facts.standing.length === 0 ? [dnsProof(facts, proxy, 'other')] : []),
        asProof({proof: 'settle', title: 'answers of before leave the caches', seconds: options.settleSeconds}),
      ],
      limitSeconds: 600,
      instructions: [],
    },
  }
}

export function dnsOutStep(facts: PairFacts, proxy: {namespace: string; name: string}, options: PairOptions): PlanStep {
  const target = `${proxy.namespace}/${proxy.name}`
  return {
    ...{id: 'dns-out', title: 'the names leave cluster DNS', action: 'update'},
    operation: {
      op: 'dns',
      before: {owner: 'srcip', hosts: facts.hosts.map((name) => ({name, target}))},
      after: {owner: 'srcip', hosts: []},
    },
    proofs: [
      ...(facts.hosts.length > 0 ? [dnsProof(facts, proxy, 'other')] : []),
      asProof({proof: 'settle', title: 'answers of before leave the caches', seconds: options.settleSeconds}),
    ],
    limitSeconds: 600,
    instructions: [],
    ...{reversible: true, onFailure: 'stop'},
    undo: {
      title: 'the names are back in cluster DNS',
      proofs: facts.hosts.length > 0 ? [dnsProof(facts, proxy, 'proxy')] : [],
      limitSeconds: 600,
      instructions: [],
    },
  }
}

/** A Deployment of ours and its pods are gone: one that is still ending may still write. */
function podsGone(manifest: Manifest): PlanProof[] {
  if (manifest['kind'] !== 'Deployment') return []
  const {namespace = '', name} = refOf(manifest)
  const {selector} = manifest['spec'] as {readonly selector: {readonly matchLabels: Readonly<Record<string, string>>}}
  return [
    asProof({proof: 'gone', title: `${name} is gone`, object: refOf(manifest)}),
    asProof({proof: 'no-pods', title: `no pod of ${name} is left`, namespace, selector: selector.matchLabels}),
  ]
}

/** Takes objects of ours away; never a namespace. */
export function removalStep(id: string, title: string, manifests: readonly Manifest[]): PlanStep {
  const own = manifests.filter((one) => one['kind'] !== 'Namespace')
  return {
    ...{id, title, action: 'delete'},
    operation: {op: 'delete', objects: own.toReversed().map((one) => ({object: refOf(one)})), manifests: [...own]},
    proofs: own.flatMap(podsGone),
    limitSeconds: 120,
    instructions: [],
    ...{reversible: true, onFailure: 'stop'},
    undo: {title: `${title}: it is brought back`, proofs: [], limitSeconds: 300, instructions: []},
  }
}

export function uninstallStep(namespace: string, release: string, facts: PairFacts): PlanStep {
  return {
    ...{id: 'uninstall', title: `release ${release} is uninstalled`, action: 'manual', operation: {op: 'none'}},
    proofs:
      facts.proxy === undefined
        ? []
        : [asProof({proof: 'gone', title: 'the proxy is gone', object: deploymentRef(facts.proxy)})],
    limitSeconds: 0,
    instructions: [`helm uninstall ${release} -n ${namespace}`, 'its hook takes the names out of cluster DNS first'],
    ...{reversible: false, onFailure: 'stop'},
  }
}
