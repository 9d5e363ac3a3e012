import {field, identity, labels, list, record, text} from '../model/fields.ts'
import type {HostCollection} from '../hosts/index.ts'
import type {Host} from '../model/hosts.ts'
import type {Published} from './names-guard.ts'

/** An EndpointSlice, as much of it as tells whether a Service can take a connection. */
export interface SliceSource {
  /** `NAMESPACE/NAME` of the Service that it belongs to. */
  readonly service: string
  readonly ready: boolean
}

/** Projects an EndpointSlice; undefined if it belongs to no Service. `ready` unset means ready (discovery/v1). Never throws. */
export function projectSlice(value: unknown): SliceSource | undefined {
  const who = identity(value)
  const service = text(field(labels(value), 'kubernetes.io/service-name'))
  if (who === undefined || service === undefined) return undefined
  const ready = list(field(record(value), 'endpoints')).some(
    (endpoint) => field(record(field(record(endpoint), 'conditions')), 'ready') !== false,
  )
  return {service: `${who.namespace}/${service}`, ready}
}

/** A set of names without those that nobody could serve yet. */
export interface Served {
  readonly collection: HostCollection
  /** Names that wait, each with its target. */
  readonly withheld: readonly Host[]
}

/**
 * Withholds names whose proxy has no ready endpoint: in DNS they would lead to nothing (B38). A name that is written already stays as it
 * is, whatever becomes of the endpoints: taking it out would send callers back into the hairpin. Pure.
 *
 * @param isReady undefined: not known, which withholds nothing
 * @param known targets that exist; a written name never goes back to one that is gone
 */
export function withholdUnserved(
  collection: HostCollection,
  published: readonly Published[],
  isReady: (target: string) => boolean | undefined,
  known: ReadonlySet<string>,
): Served {
  const written = new Map(published.map((entry) => [`${entry.kind} ${entry.name}`, entry.target]))
  const withheld: Host[] = []
  const hosts: Host[] = []
  for (const host of collection.hosts) {
    if (isReady(host.target) !== false) {
      hosts.push(host)
      continue
    }
    const stands = written.get(`${host.kind} ${host.name}`)
    if (stands === undefined) withheld.push(host)
    else hosts.push(known.has(stands) ? {...host, target: stands} : host)
  }
  if (withheld.length === 0 && hosts.every((host, index) => host === collection.hosts[index]))
    return {collection, withheld}
  const excluded = withheld.map(({name, target, sources}) => ({
    name,
    reason: `no-ready-endpoint: proxy Service ${target} has none yet`,
    source: sources[0] ?? 'flag',
  }))
  return {collection: {...collection, hosts, excluded: [...collection.excluded, ...excluded]}, withheld}
}
