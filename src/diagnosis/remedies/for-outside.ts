import type {Remedy} from '../../model/doctor.ts'
import {advice, command} from '../checks/check.ts'
import {target} from '../checks/of-ways.ts'
import type {JudgedWay} from '../judged-way.ts'
import type {WayFacts} from '../path/facts.ts'
import {balancerHop, nodeHop} from '../path/plain-way.ts'

/** What brings the client's address back, or people in: cheapest first. */
export function forOutside(way: JudgedWay): Remedy[] {
  const {facts, outside} = way
  switch (outside.cause) {
    case 'receiver-without-sender':
      return [...senderOn(facts), receiverOff(facts)]
    case 'sender-without-receiver':
      return [receiverOn(facts), senderOff(facts)]
    case 'trust-family':
    case 'trust-list':
      return [trustList(facts), ...(canKeep(facts) ? [local(facts, 2)] : [])]
    case 'header-thrown-away':
      return facts.receiver.row?.id === 'caddy' ? [otherReceiver(facts)] : [trustList(facts)]
    case 'loopback':
      return [secondController()]
    case 'ipmode-on-announced':
      return [vip(facts)]
    case 'no-endpoints':
      return [advice('endpoints', 1, 'run pods that the selector of the Service takes', 'nobody stands behind it')]
    case 'pods-differ':
      return [receiverOn(facts)]
    case 'not-passed-on':
      return [
        advice(
          'pass-proxy-on',
          2,
          'a second :PROXY in the value of the tcp-services ConfigMap, if the application can read it',
          'the controller then writes the header on its own connection',
        ),
      ]
    case 'injector-without-receiver':
      return [
        advice(
          'addon-off',
          2,
          'take the injector out of cluster DNS: kubectl srcip coredns clean, or switch its add-on off',
          'nobody reads the header it adds',
        ),
        receiverOn(facts),
      ]
    case 'dns-dangling':
      return [
        command(
          'cleanup',
          1,
          'kubectl srcip cleanup',
          'takes the left-over lines out in one write, and proves it on every CoreDNS pod',
        ),
      ]
    case 'header-version':
      return [advice('send-v1', 2, `switch ${balancer(facts)} to version 1 of the header`, 'this port reads no other')]
    default:
      return lostOnTheWay(way)
  }
}

function lostOnTheWay({facts, outside}: JudgedWay): Remedy[] {
  if (outside.verdict === 'depends' || outside.verdict === 'unknown') return ask(outside.check)
  const atBalancer = balancerHop(facts)
  const row = facts.balancer.row
  const fromBalancer = atBalancer.loses === 'always' || atBalancer.loses === 'sometimes'
  if (row?.id === 'aws-lbc' && facts.plain?.direct === true && atBalancer.loses === 'always') {
    return [preserve(), proxy(facts), ...trustedHeader(facts)]
  }
  if (row?.id === 'cozystack-host')
    return [
      advice(
        'other-exposure',
        2,
        'exposeMethod LoadBalancer for the ingress of this tenant',
        'it then has a balancer of its own',
      ),
    ]
  if (row?.id === 'oracle' && fromBalancer)
    return [local(facts, 1), ...(row.proxy.value.length > 0 ? [proxy(facts)] : [])]
  if (fromBalancer) return [proxy(facts), ...trustedHeader(facts)]
  const remedies: Remedy[] = []
  if (!isL2OfCilium(facts) && nodeHop(facts).loses !== 'never' && facts.policy === 'Cluster')
    remedies.push(local(facts, 1))
  if (facts.policy === 'Local' && facts.door !== 'balancer') remedies.push(everyNode(facts))
  if (['cilium', 'antrea', 'calico', 'kube-router'].includes(facts.cluster.plane.proxy))
    remedies.push(directReturn(facts))
  if (row !== undefined && row.proxy.value.length > 0) remedies.push(proxy(facts))
  if (row === undefined || row.place === 'cluster') remedies.push(outerProxy())
  return remedies
}

function isL2OfCilium(facts: WayFacts): boolean {
  return (
    facts.balancer.row?.id === 'cilium-lb' &&
    facts.balancer.clues.some(({field, value}) => /l2/.test(`${field} ${value}`))
  )
}

/** Would policy Local bring the address to the receiver? Only where the balancer keeps it. */
function canKeep(facts: WayFacts): boolean {
  return facts.policy === 'Cluster'
}

/** Nothing is known well enough: the look that settles it. */
export function ask(check: string | undefined): Remedy[] {
  return [
    advice(
      'ask',
      0,
      check ?? 'verify outside and verify inside show what arrives',
      'it cannot be seen from the objects alone',
    ),
  ]
}

function senderOn(facts: WayFacts): Remedy[] {
  const {row} = facts.balancer
  const ovn = facts.balancer.controller?.settings['lb-provider'] === 'ovn'
  if (row === undefined || row.proxy.value.length === 0 || ovn) return []
  return [
    advice('sender-on', 2, `switch PROXY on at ${row.title}: ${switchText(facts)}`, 'the receiver asks for it already'),
  ]
}

function senderOff(facts: WayFacts): Remedy {
  return advice(
    'sender-off',
    2,
    `switch PROXY off at ${balancer(facts)}`,
    'people get in again; the address is then what the network leaves of it',
  )
}

function receiverOn(facts: WayFacts): Remedy {
  const {row} = facts.receiver
  return advice(
    'receiver-on',
    2,
    row === undefined ? 'make the application read the header' : `switch it on at ${row.title}: ${row.enable}`,
    'the balancer sends it already',
  )
}

function receiverOff(facts: WayFacts): Remedy {
  return advice(
    'receiver-off',
    2,
    `switch PROXY off at ${facts.receiver.row?.title ?? 'the receiver'}`,
    'nothing in front of it sends a header',
  )
}

function trustList(facts: WayFacts): Remedy {
  const rule = facts.receiver.row?.trust.value
  const key = rule?.kind === 'ranges' ? rule.key : 'the list of trusted senders'
  const loopback = facts.state?.trust.kind === 'nobody' && facts.state.trust.key.includes('127.0.0.1')
  const peers = loopback
    ? '127.0.0.1'
    : `the addresses of the nodes${facts.policy === 'Local' ? ' and of the balancer' : ''}`
  return advice(
    'trust-list',
    1,
    `add ${peers} to ${key}`,
    'the header is believed only from listed peers, and these are the ones that connect',
  )
}

function otherReceiver(facts: WayFacts): Remedy {
  return advice(
    'other-receiver',
    3,
    `use a receiver that reads the header; ${facts.receiver.row?.title ?? 'this one'} has no list of senders to trust`,
    'its setting has no effect',
  )
}

/** Passthrough apart from everything else. */
export function secondController(): Remedy {
  return advice(
    'second-controller',
    3,
    'run a second controller without --enable-ssl-passthrough for everything else, or put a sender of PROXY in front',
    'the loop is inside the controller: nothing in the network changes it',
  )
}

function vip(facts: WayFacts): Remedy {
  return advice(
    'ipMode-vip',
    1,
    `take ipMode Proxy out of the status of the Service again (kubectl edit ${target(facts)} --subresource status)`,
    'the nodes themselves answer for this address',
  )
}

function preserve(): Remedy {
  return advice(
    'preserve-client-ip',
    1,
    'annotation service.beta.kubernetes.io/aws-load-balancer-target-group-attributes: preserve_client_ip.enabled=true',
    'address targets hide the client by default, and need not',
  )
}

/** PROXY on both sides. */
export function proxy(facts: WayFacts): Remedy {
  const {row} = facts.receiver
  return advice(
    'proxy-protocol',
    2,
    `switch PROXY on at ${balancer(facts)} (${switchText(facts)}) and at ${row?.title ?? 'the receiver'}${row === undefined ? '' : ` (${row.enable})`}; kubectl srcip doctor --for enable tells first what that breaks`,
    'a header carries the address past every translation',
  )
}

function trustedHeader(facts: WayFacts): Remedy[] {
  const forwarded = facts.receiver.row?.forwarded
  if (facts.balancer.row?.family !== 'openstack' || forwarded === undefined) return []
  return [
    advice(
      'trusted-header',
      2,
      `annotation loadbalancer.openstack.org/x-forwarded-for: "true" and ${forwarded.value}`,
      'enough for plain HTTP',
    ),
  ]
}

function local(facts: WayFacts, cost: number): Remedy {
  const allow =
    facts.balancer.row?.id === 'purelb' ? ', and annotate it purelb.io/allow-local, or PureLB puts it back' : ''
  return command(
    'externalTrafficPolicy-local',
    cost,
    `kubectl patch ${target(facts)} -p '{"spec":{"externalTrafficPolicy":"Local"}}'`,
    `one field; only nodes with a pod answer then${allow}`,
  )
}

function everyNode(facts: WayFacts): Remedy {
  return advice(
    'pod-on-each-node',
    1,
    `run a pod of ${facts.receiver.row?.title ?? 'the receiver'} on every node (DaemonSet), or let the name point only at nodes that have one`,
    'nodes without a pod drop the connection',
  )
}

function directReturn(facts: WayFacts): Remedy {
  const how: Readonly<Record<string, string>> = {
    cilium: 'bpf-lb-mode dsr (native routing, or Geneve dispatch)',
    antrea: 'defaultLoadBalancerMode dsr, or annotation service.antrea.io/load-balancer-mode: dsr',
    calico: 'FelixConfiguration bpfExternalServiceMode',
    'kube-router': 'annotation kube-router.io/service.dsr: tunnel',
  }
  return advice(
    'dsr',
    2,
    `direct server return: ${how[facts.cluster.plane.proxy] ?? 'see its documentation'}`,
    'the answering node need not hide the source',
  )
}

function outerProxy(): Remedy {
  return advice(
    'outer-proxy',
    3,
    'a proxy in front that sends PROXY (HAProxy with send-proxy-v2, nginx stream with proxy_protocol on), and the receiver switched on',
    'where no policy can keep the address',
  )
}

function switchText(facts: WayFacts): string {
  const one = facts.balancer.row?.proxy.value[0]
  switch (one?.kind) {
    case 'value': {
      const value = Object.entries(one.values).find(([, version]) => version !== 'off')?.[0] ?? 'true'
      return `annotation ${one.key}: "${value}"`
    }
    case 'ports':
      return `annotation ${one.key}: "${one.all[0] ?? 'PORT,PORT'}"`
    case 'attributes':
      return `annotation ${one.key}: ${one.name}=true`
    case 'port-json':
      return `annotation ${one.prefix}${facts.port}: {"${one.field}":"v2"}`
    case 'config-json':
      return `${one.property} of the backend in annotation ${one.key}`
    case 'word':
      return `annotation ${one.key}: "${one.word}"`
    default:
      return 'see its documentation'
  }
}

function balancer(facts: WayFacts): string {
  return facts.balancer.row?.title ?? 'the balancer in front'
}
