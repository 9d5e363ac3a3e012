import {fqdn, labelsOf} from './dns-name.ts'
import type {CompiledServer} from './server.ts'
import type {Query, Simulation} from './simulate.ts'
import {simulateOn} from './simulate.ts'
import type {World} from './world.ts'

/** Search list of a Pod and the number of dots from which a name is tried as it stands first. */
export interface SearchPath {
  readonly search: readonly string[]
  readonly ndots: number
}

/** In: namespace, cluster domain, search list of the node. Out: what kubelet writes into the resolv.conf of a Pod (ClusterFirst). */
export function podSearchPath(namespace: string, clusterDomain: string, node: readonly string[] = []): SearchPath {
  const domain = clusterDomain.replace(/\.$/, '')
  return {search: [`${namespace}.svc.${domain}`, `svc.${domain}`, domain, ...node], ndots: 5}
}

/** In: a name as an application has it. Out: the names that a stub resolver asks, in order (resolv.conf(5)). */
export function searchVariants(name: string, path: SearchPath): string[] {
  if (name.endsWith('.')) return [name]
  const absolute = fqdn(name)
  const expanded = path.search.map((suffix) => fqdn(`${name}.${suffix}`))
  return labelsOf(absolute).length - 1 >= path.ndots ? [absolute, ...expanded] : [...expanded, absolute]
}

/** One name of the search path, and what it meets. */
export interface SearchStep {
  readonly name: string
  readonly simulation: Simulation
  /** The resolver ends here: the answer is not NXDOMAIN. Undefined: cannot be told. */
  readonly ends: boolean | undefined
}

/** In: a server, a query for a name as an application has it, its search path. Out: every variant, up to the one that ends it. */
export function simulateSearch(
  server: CompiledServer,
  query: Query,
  path: SearchPath,
  world: World = {},
): SearchStep[] {
  const steps: SearchStep[] = []
  for (const name of searchVariants(query.name, path)) {
    const simulation = simulateOn(server, {...query, name}, world)
    const {reply} = simulation
    const ends = reply === undefined ? undefined : reply.rcode === 'NOERROR' && reply.answer.length > 0
    steps.push({name, simulation, ends})
    if (ends === true) break
  }
  return steps
}
