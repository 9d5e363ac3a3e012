import type {Hop} from '../../model/doctor.ts'
import {isSending, serviceRef, type WayFacts} from './facts.ts'
import {balancerHop, nodeHop} from './plain-way.ts'
import type {Judgement} from './verdict.ts'

/** The stations between client and application, with what each does to the client's address. */
export function hopsOf(facts: WayFacts, outside: Judgement): Hop[] {
  const carried = isSending(facts.sender) && facts.state?.asks === 'yes' && outside.lost === 'none'
  const lost = (at: Hop['at']): boolean => outside.lost === at
  return [
    {at: 'client', name: 'client', source: 'kept', how: 'opens the connection', grade: 'source', lost: false},
    ...balancerStation(facts, carried, lost('balancer')),
    ...nodeStations(facts, carried, lost('node'), lost('service-proxy')),
    receiverStation(facts, carried, lost('receiver')),
    ...applicationStation(facts, outside),
  ]
}

function balancerStation(facts: WayFacts, carried: boolean, lost: boolean): Hop[] {
  if (facts.door === 'host-port') return []
  const {row} = facts.balancer
  const hop = balancerHop(facts)
  const seen = facts.sender.seen
  if (isSending(facts.sender)) {
    const version = facts.sender.sends === 'some' ? '' : ` ${facts.sender.sends}`
    return [
      {
        at: 'balancer',
        name: row?.id ?? 'unknown',
        source: 'carried',
        how: `writes a PROXY${version} header`,
        ...(seen === undefined ? {} : {seen}),
        grade: facts.sender.grade,
        lost,
      },
    ]
  }
  return [
    {
      at: 'balancer',
      name: row?.id ?? (facts.door === 'balancer' ? 'unknown' : 'outside of the cluster'),
      source: carried ? 'carried' : hop.loses === 'never' ? 'kept' : hop.loses === 'always' ? 'translated' : 'unknown',
      how: hop.why,
      ...(seen === undefined ? {} : {seen}),
      grade: hop.ground.grade,
      lost,
    },
  ]
}

function nodeStations(facts: WayFacts, carried: boolean, lostNode: boolean, lostProxy: boolean): Hop[] {
  if (facts.plain?.direct === true) return []
  const {plane, nodes} = facts.cluster
  const node: Hop = {
    at: 'node',
    name: nodes.length === 1 ? (nodes[0]?.name ?? 'node') : nodes.length === 0 ? 'nodes' : `${nodes.length} nodes`,
    source: 'kept',
    how: 'hands it to the service proxy',
    grade: 'source',
    lost: lostNode,
  }
  if (facts.door === 'host-port') return [{...node, how: 'the receiver listens on the node itself'}]
  const hop = nodeHop(facts)
  const translated = hop.loses === 'always' || hop.loses === 'sometimes'
  return [
    node,
    {
      at: 'service-proxy',
      name: plane.proxy,
      source: hop.loses === 'never' ? 'kept' : translated ? 'translated' : 'unknown',
      how: carried && translated ? `${hop.why}; the header goes through` : hop.why,
      seen: {object: serviceRef(facts.service), field: 'spec.externalTrafficPolicy', value: facts.policy},
      grade: hop.ground.grade,
      lost: lostProxy,
    },
  ]
}

function receiverStation(facts: WayFacts, carried: boolean, lost: boolean): Hop {
  const {state, receiver} = facts
  const name = receiver.row?.id ?? 'application'
  if (state === undefined)
    return {
      at: receiver.row === undefined ? 'application' : 'receiver',
      name,
      source: 'unknown',
      how: 'reads what arrives',
      grade: 'inferred',
      lost,
    }
  const words = {
    yes: 'asks for a PROXY header',
    no: 'asks for no PROXY header',
    some: 'some pods ask for PROXY',
    unknown: 'whether it asks for PROXY is not seen',
  }
  const seen = state.seen[0]
  return {
    at: 'receiver',
    name,
    source: carried ? 'carried' : lost ? 'translated' : state.asks === 'unknown' ? 'unknown' : 'kept',
    how: words[state.asks],
    ...(seen === undefined ? {} : {seen}),
    grade: state.grade,
    lost,
  }
}

function applicationStation(facts: WayFacts, outside: Judgement): Hop[] {
  if (facts.state === undefined) return []
  const seen = outside.verdict === 'fine'
  return [
    {
      at: 'application',
      name: 'application',
      source: seen ? 'carried' : 'unknown',
      how: seen ? 'reads the address in X-Forwarded-For or X-Real-IP' : 'gets what the receiver saw',
      grade: 'inferred',
      lost: false,
    },
  ]
}
