import type {Diagnosis, JudgedWay} from '../judged-way.ts'
import {serviceRef, type WayFacts} from '../path/facts.ts'
import type {Draft, Evidence} from './check.ts'

/** One draft for each way in that `look` finds something on. */
export function eachWay(
  {ways}: Diagnosis,
  look: (way: JudgedWay) => Omit<Draft, 'object' | 'path'> | undefined,
): Draft[] {
  return ways.flatMap((way) => {
    const found = look(way)
    return found === undefined ? [] : [{...found, object: serviceRef(way.facts.service), path: way.id}]
  })
}

/** One draft for each Service that `look` finds something on, asked with its first way in. */
export function eachService(
  {ways}: Diagnosis,
  look: (way: JudgedWay, all: readonly JudgedWay[]) => Omit<Draft, 'object'> | undefined,
): Draft[] {
  // grouped once: a search for each Service takes minutes with thousands of them
  const groups = Map.groupBy(ways, (way) => serviceRef(way.facts.service))
  return [...groups].flatMap(([object, all]) => {
    const [first] = all
    const found = first === undefined ? undefined : look(first, all)
    return found === undefined ? [] : [{...found, object}]
  })
}

/** What the verdicts of a way in were read from. */
export function evidenceOf(facts: WayFacts): Evidence[] {
  const object = serviceRef(facts.service)
  return [
    ...(facts.sender.seen === undefined ? [] : [facts.sender.seen]),
    ...(facts.state?.seen ?? []),
    ...(facts.door === 'host-port' ? [] : [{object, field: 'spec.externalTrafficPolicy', value: facts.policy}]),
    ...facts.cluster.plane.seen.slice(0, 1),
  ]
}

/** The status entries of a Service as evidence. */
export function statusEvidence(facts: WayFacts): Evidence[] {
  return facts.entries.map((entry) => ({
    object: serviceRef(facts.service),
    field: entry.external === true ? 'spec.externalIPs' : 'status.loadBalancer.ingress',
    value: [entry.ip, entry.hostname, entry.ipMode === undefined ? undefined : `ipMode ${entry.ipMode}`]
      .filter((one) => one !== undefined)
      .join(' '),
  }))
}

/** The namespace and name of a Service, for commands. */
export function target(facts: WayFacts): string {
  const {namespace = 'default', name} = facts.service.metadata
  return `-n ${namespace} service ${name}`
}
