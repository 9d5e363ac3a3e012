import {holdsIn} from '../../platforms/versions.ts'
import {shared} from '../../platforms/sources.ts'
import type {Entry, WayFacts} from './facts.ts'
import type {Ground} from './verdict.ts'

/** Does the service proxy of a node answer for an address itself, so that a pod's call never reaches the balancer? */
export interface ShortCircuit {
  readonly entry: Entry
  readonly taken: boolean | undefined
  readonly grounds: readonly Ground[]
  readonly check?: string
}

/** One answer for each entry of a way in (platforms.md 0.2, 0.3, 3.2). */
export function shortCircuits(facts: WayFacts): ShortCircuit[] {
  const addresses = facts.entries.filter((entry) => entry.ip !== undefined)
  // a host name beside an address changes nothing: whoever gets the address is short-circuited
  return (addresses.length > 0 ? addresses : facts.entries).map((entry) => of(entry, facts))
}

function of(entry: Entry, facts: WayFacts): ShortCircuit {
  const {plane} = facts.cluster
  if (entry.ip === undefined) return {entry, taken: false, grounds: [{grade: 'source', source: shared.hostnameOnly}]}
  if (entry.external === true) return {entry, taken: true, grounds: [{grade: 'source', source: shared.kubeProxy}]}
  // a node's own address: a pod reaches its own node's port, never the balancer in front of it
  if (facts.door !== 'balancer') return {entry, taken: true, grounds: [{grade: 'source', source: shared.kubeProxy}]}
  if (facts.leftAlone)
    return {entry, taken: false, grounds: [{grade: 'source', source: plane.row?.honoursIpMode.source ?? shared.ipMode}]}
  const mode = entry.ipMode ?? 'VIP'
  if (mode === 'VIP') return {entry, taken: true, grounds: [{grade: 'source', source: shared.ipMode}]}
  if (mode !== 'Proxy') {
    return {
      entry,
      taken: undefined,
      grounds: [{grade: 'source', source: shared.ipMode}],
      check: `what ipMode ${mode} means for the service proxy of this cluster`,
    }
  }
  const {value, grade, source, check} = plane.honoursIpMode
  return {
    entry,
    taken: value === undefined ? undefined : !value,
    // not knowing which version runs is no doubt about what it does
    grounds: [{grade: value === undefined ? 'source' : grade, source}],
    ...(value === undefined && check !== undefined ? {check} : {}),
  }
}

/** All entries taken as one: `some` where they differ. */
export function together(all: readonly ShortCircuit[]): {
  readonly taken: 'all' | 'none' | 'some' | 'unknown'
  readonly grounds: readonly Ground[]
  readonly check?: string
} {
  const grounds = all.flatMap((one) => one.grounds)
  const open = all.find((one) => one.taken === undefined)
  const taken = all.filter((one) => one.taken === true).length
  if (open !== undefined) {
    return {taken: 'unknown', grounds, ...(open.check === undefined ? {} : {check: open.check})}
  }
  if (taken === 0) return {taken: 'none', grounds}
  return {taken: taken === all.length ? 'all' : 'some', grounds}
}

/** Does a version of a cloud controller write what its row says? undefined: the version is not seen. */
export function controllerWrites(since: string | undefined, version: string | undefined): boolean | undefined {
  return since === undefined ? true : holdsIn({from: since}, version)
}
