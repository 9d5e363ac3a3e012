import type {DoctorReport, Finding, Verdict, WayIn} from '../model/doctor.ts'
import {apiVersion} from '../model/documents.ts'
import type {SnapshotIndex} from '../model/snapshot.ts'
import {checks, runChecks} from './checks/index.ts'
import {resourceOf} from './readings.ts'
import {managedGateway} from './checks/managed-gateway.ts'
import {viewCluster} from './cluster-view.ts'
import type {JudgedWay} from './judged-way.ts'
import {breakages} from './path/breaks.ts'
import {afterSwitch} from './path/after.ts'
import {serviceRef, waysIn, type WayFacts} from './path/facts.ts'
import {judgeHairpin} from './path/hairpin.ts'
import {hopsOf} from './path/hops.ts'
import {namesOfWay} from './path/names.ts'
import {judgeOutside} from './path/outside.ts'
import {hedged} from './path/unseen.ts'
import type {Judgement} from './path/verdict.ts'

export interface DiagnoseOptions {
  /** Verdicts also for the state after that switch. */
  readonly for?: 'enable' | 'disable' | undefined
  /** Only ways in of this Service, `NAMESPACE/NAME`. */
  readonly service?: string | undefined
  /** Ids of findings to leave out. */
  readonly ignore?: readonly string[] | undefined
}

/**
 * Snapshot in, report out: verdicts of every way in, findings, and what was not seen. Pure, and the same bytes for the same
 * snapshot. `exitCode` follows design.md 4: 22 on an error finding, else 21 if a verdict is open, else 0; where nothing at
 * all could be read the caller ends with 30 or 31 before this is called.
 */
export function diagnose(index: SnapshotIndex, options: DiagnoseOptions = {}): DoctorReport {
  const cluster = viewCluster(index)
  const all = waysIn(cluster)
    .filter((facts) => options.service === undefined || serviceRef(facts.service) === `service/${options.service}`)
    .map((facts) => judgeWay(facts, options.for))
  const findings = runChecks({cluster, ways: all}).filter(
    (finding) =>
      !(options.ignore ?? []).includes(finding.id) && (options.service === undefined || concerns(finding, all)),
  )
  const paths = all.map(pathOf)
  return {
    apiVersion,
    kind: 'DoctorReport',
    paths,
    findings,
    notSeen: notSeenOf(index),
    exitCode: exitCodeOf(
      all,
      findings,
      options,
      ['complete', 'absent'].includes(index.state('Service', undefined, undefined, '')),
    ),
    changed: false,
    warnings: [...index.snapshot.warnings, ...noWayIn(options.service, all)],
  }
}

/** A Service that was asked for by name and leads nobody in. */
function noWayIn(service: string | undefined, ways: readonly JudgedWay[]): string[] {
  if (service === undefined || ways.length > 0) return []
  return [`Service ${service} is no way in: it is not of type LoadBalancer or NodePort and has no externalIPs`]
}

function judgeWay(facts: WayFacts, direction: 'enable' | 'disable' | undefined): JudgedWay {
  const {metadata} = facts.service
  const id = `${metadata.namespace ?? 'default'}/${metadata.name}:${facts.port}/${facts.protocol}`
  const after = direction === undefined ? undefined : afterSwitch(facts, direction)
  return {
    id,
    facts,
    ...judgeBoth(facts),
    ...(after === undefined || direction === undefined ? {} : {after: {direction, ...judgeBoth(after)}}),
  }
}

function judgeBoth(facts: WayFacts): Pick<JudgedWay, 'outside' | 'hairpin'> {
  return {
    outside: hedged(judgeOutside(facts), facts, 'outside', judgeOutside),
    hairpin: hedged(judgeHairpin(facts), facts, 'hairpin', judgeHairpin),
  }
}

function pathOf({id, facts, outside, hairpin, after}: JudgedWay): WayIn {
  const {metadata} = facts.service
  const balancer = facts.balancer.row?.id
  const receiver = facts.receiver.row?.id
  const {cni} = facts.cluster.plane
  const lost = lostAt(outside)
  return {
    id,
    namespace: metadata.namespace ?? 'default',
    service: metadata.name,
    port: facts.port,
    protocol: facts.protocol,
    addresses: facts.entries.flatMap((entry) => [entry.ip, entry.hostname].filter((one) => one !== undefined)),
    hosts: namesOfWay(facts).map((name) => name.name),
    platform: {
      ...(balancer === undefined ? {} : {balancer}),
      ...(receiver === undefined ? {} : {receiver}),
      ...(cni === undefined ? {} : {cni}),
    },
    hops: hopsOf(facts, outside),
    ...(lost === undefined ? {} : {lostAt: lost}),
    outside: plain(outside),
    hairpin: plain(hairpin),
    ...(after === undefined
      ? {}
      : {
          after: {
            for: after.direction,
            outside: plain(after.outside),
            hairpin: plain(after.hairpin),
            breaks: breakages(facts, after.direction),
          },
        }),
  }
}

function lostAt(outside: Judgement): string | undefined {
  return outside.lost === 'none' || outside.lost === 'unknown' ? undefined : outside.lost
}

function plain({lost: _lost, cause: _cause, ...verdict}: Judgement): Verdict {
  return verdict
}

function concerns(finding: Finding, ways: readonly JudgedWay[]): boolean {
  if (finding.path !== undefined) return ways.some((way) => way.id === finding.path)
  return ways.some((way) => serviceRef(way.facts.service) === finding.object) || finding.severity === 'error'
}

function notSeenOf(index: SnapshotIndex): DoctorReport['notSeen'] {
  return index.snapshot.readings
    .filter((reading) => reading.state !== 'complete' && reading.state !== 'absent')
    .map((reading) => ({
      verb: reading.verb,
      resource: resourceOf(reading),
      ...(reading.namespace === undefined ? {} : {namespace: reading.namespace}),
      reason: reading.message ?? reading.state,
    }))
}

/**
 * 22 on an error, 21 on anything open, else 0. Asked for the state after a switch, its verdicts count instead of today's: what
 * is wrong today is the reason to switch.
 */
function exitCodeOf(
  ways: readonly JudgedWay[],
  findings: readonly Finding[],
  options: DiagnoseOptions,
  servicesRead: boolean,
): number {
  const asked = ways.flatMap((way) =>
    options.for === undefined || way.after === undefined
      ? [way.outside, way.hairpin]
      : [way.after.outside, way.after.hairpin],
  )
  const ofToday = new Set(options.for === undefined ? [] : checks.filter(({cures}) => cures === true).map(({id}) => id))
  const errors = findings.filter(({id, severity}) => severity === 'error' && !ofToday.has(id))
  const broken =
    options.for !== undefined && asked.some(({verdict}) => verdict === 'broken' || verdict === 'half-broken')
  if (errors.length > 0 || broken) return 22
  const settled = asked.every(({verdict}) => verdict === 'fine' || verdict === 'not-needed')
  // a Gateway that nothing here can judge leaves a choice open
  const unread = ways.length === 0 && !servicesRead
  return settled && !unread && !findings.some((finding) => finding.id === managedGateway.id) ? 0 : 21
}
