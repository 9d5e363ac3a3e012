import {placeOf, type Place, type Places} from './places.ts'
import type {LogEvent} from './ingress-log.ts'

/** What an ingress log proves; a closed list. */
export type LogClass =
  | 'health-check'
  | 'http-health-check'
  | 'hairpin'
  | 'sender-missing'
  | 'header-missing'
  | 'header-unexpected'
  | 'balancer-address'
  | 'scan'

export interface LogEvidence {
  readonly class: LogClass
  readonly severity: 'error' | 'warning' | 'info'
  readonly place: Place
  readonly listener?: string
  /** Peers, most frequent first, at most five. */
  readonly peers: readonly string[]
  readonly count: number
  /** Line of the first one. */
  readonly line: number
  readonly meaning: string
}

const meanings: Readonly<Record<LogClass, {readonly severity: LogEvidence['severity']; readonly meaning: string}>> = {
  'health-check': {severity: 'info', meaning: 'a TCP health check opens and closes the port: harmless'},
  'http-health-check': {
    severity: 'warning',
    meaning:
      'an HTTP health check without a header on a port that wants one: point it at the health port of the controller',
  },
  hairpin: {
    severity: 'error',
    meaning: 'a pod calls a name of the cluster and arrives without the header: the hairpin problem',
  },
  'sender-missing': {
    severity: 'error',
    meaning: 'the balancer does not send the header that the ingress wants: outside traffic is down on this port',
  },
  'header-missing': {
    severity: 'error',
    meaning:
      'connections without the header that the ingress wants; behind a node, which hides who it was, or from outside past the balancer',
  },
  'header-unexpected': {
    severity: 'error',
    meaning: 'the balancer sends a header that the ingress does not read: every connection fails on this port',
  },
  'balancer-address': {
    severity: 'warning',
    meaning: 'every request is logged with an address of the balancer or of a node instead of the client',
  },
  scan: {severity: 'info', meaning: 'neither a header nor a protocol that this port speaks: a port scan'},
}

/** Requests that must be seen before their addresses say something about all of them. */
const enoughRequests = 5

/** Judges events by where their peers lie; one row for each class, place and listener, worst first. Pure. */
export function judgeLog(events: readonly LogEvent[], places: Places): LogEvidence[] {
  const rows = new Map<string, {row: Omit<LogEvidence, 'peers' | 'count'>; peers: Map<string, number>}>()
  const add = (event: LogEvent, name: LogClass, place: Place): void => {
    const key = [name, place, event.listener ?? ''].join(' ')
    const entry = rows.get(key) ?? {
      row: {
        class: name,
        place,
        ...meanings[name],
        line: event.line,
        ...(event.listener === undefined ? {} : {listener: event.listener}),
      },
      peers: new Map<string, number>(),
    }
    entry.peers.set(event.peer, (entry.peers.get(event.peer) ?? 0) + 1)
    rows.set(key, entry)
  }
  for (const event of events) {
    const place = placeOf(event.peer, places)
    const name = classOf(event, place)
    if (name !== undefined) add(event, name, place)
  }
  const requests = events.filter(({kind}) => kind === 'request')
  const seen = requests.map((event) => [event, placeOf(event.peer, places)] as const)
  if (requests.length >= enoughRequests && seen.every(([, place]) => place === 'balancer' || place === 'node'))
    for (const [{kind, peer, line}, place] of seen) add({kind, peer, line}, 'balancer-address', place)
  return [...rows.values()]
    .map(({row, peers}) => ({
      ...row,
      peers: [...peers]
        .toSorted(([, a], [, b]) => b - a)
        .slice(0, 5)
        .map(([peer]) => peer),
      count: [...peers.values()].reduce((sum, count) => sum + count, 0),
    }))
    .toSorted((a, b) => rank(a) - rank(b) || a.line - b.line)
}

function classOf({kind, first}: LogEvent, place: Place): LogClass | undefined {
  switch (kind) {
    case 'request':
      return undefined
    case 'header-found':
      return 'header-unexpected'
    case 'unreadable':
      // Without the bytes (HAProxy), only a balancer is suspected of sending a header.
      return first === undefined && place === 'balancer' ? 'header-unexpected' : 'scan'
    case 'header-wanted':
      return wantedClass(first, place)
  }
}

function wantedClass(first: LogEvent['first'], place: Place): LogClass {
  switch (first) {
    case 'nothing':
      return place === 'elsewhere' ? 'scan' : 'health-check'
    case 'http-health-check':
      if (place === 'pod') return 'hairpin'
      return 'http-health-check'
    case 'something else':
    case 'proxy-v1':
    case 'proxy-v2':
      return place === 'balancer' ? 'sender-missing' : 'scan'
    case 'http':
    case 'tls':
    case undefined:
      return place === 'pod' ? 'hairpin' : place === 'balancer' ? 'sender-missing' : 'header-missing'
  }
}

function rank({severity}: LogEvidence): number {
  return {error: 0, warning: 1, info: 2}[severity]
}
