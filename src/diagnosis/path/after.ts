import {inferred} from '../../platforms/cell.ts'
import type {Judged} from '../../platforms/cnis/data-plane.ts'
import type {ProxySwitch, ProxyVersion, StatusShape} from '../../platforms/balancers/row.ts'
import {readPlain} from '../../platforms/balancers/plain.ts'
import {digitalOceanType} from '../../platforms/balancers/sender.ts'
import type {ReceiverState} from '../../platforms/receivers/state.ts'
import {shared} from '../../platforms/sources.ts'
import {controllerWrites} from './short-circuit.ts'
import type {Entry, WayFacts} from './facts.ts'

/** The same way in after a switch of balancer and receiver, from the tables, nothing else changed. */
export function afterSwitch(facts: WayFacts, direction: 'enable' | 'disable'): WayFacts {
  const on = direction === 'enable'
  const sender = switchedSender(facts, on)
  const sends = sender.sends !== 'no' && sender.sends !== 'unknown'
  // whether it sends may be unknown and what it would write all the same known
  const shape = switchedShape(facts, sends || (on && sender.sends === 'unknown'))
  return {
    ...facts,
    sender,
    allPortsSend: sends,
    state: facts.state === undefined ? undefined : switchedReceiver(facts.state, facts, on),
    plain:
      facts.balancer.row === undefined
        ? undefined
        : readPlain(facts.balancer.row, facts.service, sends, facts.protocol),
    entries: shape === undefined ? facts.entries : switchedEntries(facts, shape),
    ...(shape === undefined ? {} : {shape}),
  }
}

function switchedSender(facts: WayFacts, on: boolean): WayFacts['sender'] {
  const {row} = facts.balancer
  if (!on) return {sends: 'no', grade: 'source', source: facts.sender.source}
  // nothing is known to stand before the nodes
  if (facts.door === 'host-port') return {...facts.sender, sends: 'no', grade: 'inferred'}
  if (row === undefined) return {...facts.sender, sends: facts.sender.sends === 'no' ? 'unknown' : facts.sender.sends}
  const {value, grade, source, check} = row.proxy
  const base = {grade, source, ...(check === undefined ? {} : {check})}
  if (value.length === 0) return {sends: grade === 'unconfirmed' ? 'unknown' : 'no', ...base}
  const type = facts.service.metadata.annotations?.[digitalOceanType]
  if (row.id === 'digitalocean' && type !== 'REGIONAL') {
    return {
      sends: 'unknown',
      grade: 'unconfirmed',
      source,
      check: 'whether this type of balancer can send PROXY: the provider, or a Service that nobody uses',
    }
  }
  return {sends: versionOf(value[0]), ...base}
}

/** The version that the usual value of a switch stands for. */
function versionOf(one: ProxySwitch | undefined): ProxyVersion {
  if (one === undefined) return 'some'
  if (one.kind === 'value') return Object.values(one.values).find((value) => value !== 'off') ?? 'some'
  return one.kind === 'port-json' || one.kind === 'config-json' ? 'v2' : one.version
}

/** The receiver as its row says, trusting whom it must trust: nobody would switch it on without that. */
function switchedReceiver(state: ReceiverState, facts: WayFacts, on: boolean): ReceiverState {
  // a TCP service has a switch of its own
  if (state.tcpService !== undefined && on) return state
  if (!on) return {...state, asks: 'no', grade: 'source', loopback: state.whenOn.withoutHeader !== undefined}
  if (state.asks === 'yes') return state
  const perSource = (state.whenOn.withoutHeader ?? state.withoutHeader) === 'per-source'
  return {
    ...state,
    ...state.whenOn,
    loopback: false,
    asks: 'yes',
    grade: state.grade === 'unconfirmed' ? 'inferred' : state.grade,
    trust: trustAfter(state, facts, perSource),
  }
}

/** Nothing but the switch changes, so a list stays as it is; one that is part of the switch holds whom it must hold. */
function trustAfter(state: ReceiverState, facts: WayFacts, perSource: boolean): ReceiverState['trust'] {
  const rule = facts.receiver.row?.trust.value
  if (facts.receiver.row?.id === 'caddy') return state.trust
  if (perSource) return {kind: 'ranges', ranges: outsideRanges(facts), byDefault: false, key: 'proxy-protocol'}
  if (rule?.kind === 'ranges' && rule.absent !== 'nobody') return state.whenOn.trust ?? state.trust
  return {kind: 'anyone'}
}

function outsideRanges(facts: WayFacts): string[] {
  const translated = facts.policy === 'Cluster' && facts.source.value === 'translated' && facts.plain?.direct !== true
  return translated ? facts.cluster.nodes.flatMap((node) => node.addresses) : []
}

/** What the controller writes then; undefined where nothing is known of it and today's status stands. */
function switchedShape(facts: WayFacts, sends: boolean): Judged<StatusShape> | undefined {
  const {row, controller} = facts.balancer
  if (facts.door !== 'balancer') return undefined
  if (row === undefined) {
    return {
      value: {entries: 'ip', ipMode: 'unknown'},
      grade: 'unconfirmed',
      source: shared.ipMode,
      check: 'the status of the Service after the switch',
    }
  }
  const cell = sends ? row.status.on : row.status.off
  const {value, grade, source, check} = cell
  const writes = controllerWrites(value.since, controller?.version)
  const base = {grade, source, ...(check === undefined ? {} : {check})}
  // an annotation of the Service decides over everything
  if (row.hostname !== undefined && facts.service.metadata.annotations?.[row.hostname.value] !== undefined)
    return {...inferred(null, row.hostname.source), value: {entries: 'hostname', ipMode: 'unset'}, grade: 'source'}
  if (hasOnlyHostnames(facts.entries) && value.entries !== 'ip and hostname')
    return {value: {entries: 'hostname', ipMode: 'unset'}, grade: 'source', source}
  if (value.since !== undefined && writes === undefined)
    return {
      value: {...value, ipMode: 'unknown'},
      grade: 'unconfirmed',
      source,
      check: `the version of the controller of ${row.title}: it writes ipMode from v${value.since} on`,
    }
  if (writes === false) return {value: {...value, ipMode: 'unset'}, ...base}
  return {value, ...base}
}

function hasOnlyHostnames(entries: readonly Entry[]): boolean {
  return entries.length > 0 && entries.every((entry) => entry.ip === undefined)
}

function switchedEntries(facts: WayFacts, shape: Judged<StatusShape>): readonly Entry[] {
  const value = shape.value
  if (value === undefined) return facts.entries
  if (value.entries === 'hostname') return [{hostname: 'the host name of the balancer'}]
  if (value.entries === 'unknown') return facts.entries.map((entry) => ({...entry, ipMode: 'unknown'}))
  return facts.entries.map((entry): Entry => {
    if (entry.external === true) return entry
    const {ipMode: _old, ...rest} = entry
    const ip = rest.ip ?? 'the address of the balancer'
    return value.ipMode === 'unset'
      ? {...rest, ip}
      : {...rest, ip, ipMode: value.ipMode === 'unknown' ? 'unknown until the switch' : value.ipMode}
  })
}
