import {severityRank, type Finding} from '../../model/doctor.ts'
import type {LogEvent} from './ingress-log.ts'
import {PeerCount} from './peers.ts'
import {placeFinder, placeOf, type Place, type Places} from './places.ts'

/** What one record of an ingress log shows; a closed list. */
export type LogClass =
  | 'tcp-health-check'
  | 'http-health-check'
  | 'hairpin'
  | 'hairpin-http'
  | 'hairpin-tls'
  | 'outside-without-header'
  | 'caller-unknown'
  | 'header-not-read'
  | 'header-broken'
  | 'port-scan'
  | 'balancer-address'
  | 'node-address'
  | 'pod-range-gateway'
  | 'passthrough-loopback'
  | 'pod-address'
  | 'client-address'

type Severity = Finding['severity']

export interface LogEvidence {
  readonly class: LogClass
  readonly severity: Severity
  readonly place: Place
  readonly listener?: string
  /** Peers, most frequent first, at most five. */
  readonly peers: readonly string[]
  readonly count: number
  /** Line of the first one. */
  readonly line: number
  readonly meaning: string
}

const hairpin = 'a pod calls a name of the cluster and arrives without the header: the hairpin problem'
const lost = 'every request is logged with this kind of address: the client’s own never arrives'

const meanings: Readonly<Record<LogClass, {readonly severity: Severity; readonly meaning: string}>> = {
  'tcp-health-check': {
    severity: 'info',
    meaning: 'somebody opens and closes the port without a word, as a TCP health check does: harmless',
  },
  'http-health-check': {
    severity: 'warning',
    meaning:
      'an HTTP health check without a header on a port that wants one: point it at the health port of the controller',
  },
  hairpin: {severity: 'error', meaning: hairpin},
  'hairpin-http': {severity: 'error', meaning: `${hairpin} (HTTP)`},
  'hairpin-tls': {severity: 'error', meaning: `${hairpin} (TLS)`},
  'outside-without-header': {
    severity: 'error',
    meaning:
      'a client, or the balancer for it, arrives without the header that the ingress wants: outside traffic is down on this port',
  },
  'caller-unknown': {
    severity: 'warning',
    meaning:
      'somebody arrives without the header that the ingress wants: a pod (then this is the hairpin problem) or a client from outside (then outside traffic is down on this port); which of them cannot be told, since the pod ranges of the cluster were not read',
  },
  'header-not-read': {
    severity: 'error',
    meaning: 'the sender writes a header and the ingress does not read it: every connection fails on this port',
  },
  'header-broken': {severity: 'warning', meaning: 'it begins like a PROXY header and is none'},
  'port-scan': {severity: 'info', meaning: 'neither a header nor a protocol that this port speaks'},
  'balancer-address': {severity: 'info', meaning: 'requests with an address of the balancer instead of the client’s'},
  'node-address': {severity: 'info', meaning: 'requests with the address of a node instead of the client’s'},
  'pod-range-gateway': {
    severity: 'info',
    meaning: 'requests with the first address of a node’s pod range: masqueraded inside the node',
  },
  'passthrough-loopback': {
    severity: 'info',
    meaning: 'requests from the machine itself, which hides who sent them',
  },
  'pod-address': {severity: 'info', meaning: 'requests of pods'},
  'client-address': {severity: 'info', meaning: 'requests with addresses from outside'},
}

/** Requests that must be seen before their addresses say something about all of them. */
const enoughRequests = 5
/** Rows of one log; real ones have a handful of listeners. */
const mostRows = 1000
const hiding = new Set<LogClass>(['balancer-address', 'node-address', 'pod-range-gateway', 'passthrough-loopback'])

/** What one record shows. Pure. */
export function classifyRecord(event: LogEvent, places: Places): LogClass {
  return classOf(event, placeOf(event.peer, places))
}

function classOf(event: LogEvent, place: Place): LogClass {
  switch (event.kind) {
    case 'request':
      return requestClass(place)
    case 'header-found':
      return 'header-not-read'
    case 'unreadable':
      // Without the bytes (HAProxy), only a balancer is suspected of sending a header.
      return event.first === undefined && place === 'balancer' ? 'header-not-read' : 'port-scan'
    case 'header-wanted':
      return wantedClass(event.first, place)
  }
}

function requestClass(place: Place): LogClass {
  switch (place) {
    case 'loopback':
      return 'passthrough-loopback'
    case 'balancer':
      return 'balancer-address'
    case 'node':
      return 'node-address'
    case 'gateway':
      return 'pod-range-gateway'
    case 'pod':
      return 'pod-address'
    case 'elsewhere':
    case 'unknown':
      return 'client-address'
  }
}

function wantedClass(first: LogEvent['first'], place: Place): LogClass {
  switch (first) {
    case 'nothing':
      return 'tcp-health-check'
    case 'http-health-check':
      return place === 'pod' ? 'hairpin-http' : 'http-health-check'
    case 'something else':
      return 'port-scan'
    case 'proxy-v1':
    case 'proxy-v2':
      return 'header-broken'
    case 'http':
      return callerClass(place, 'hairpin-http')
    case 'tls':
      return callerClass(place, 'hairpin-tls')
    case undefined:
      return callerClass(place, 'hairpin')
  }
}

function callerClass(place: Place, ofPod: LogClass): LogClass {
  if (place === 'pod') return ofPod
  return place === 'unknown' ? 'caller-unknown' : 'outside-without-header'
}

/** One row for each class, place and listener, worst first. Requests are told by class and place only. Pure. */
export function judgeLog(events: readonly LogEvent[], places: Places): LogEvidence[] {
  const judge = new LogJudge(places)
  for (const event of events) judge.add(event)
  return judge.rows()
}

interface Row {
  readonly class: LogClass
  readonly place: Place
  readonly listener?: string
  readonly line: number
  readonly peers: PeerCount
}

/** {@link judgeLog} for logs that come in pieces: what it keeps does not grow with the log. */
export class LogJudge {
  readonly #place: (address: string) => Place
  readonly #rows = new Map<string, Row>()
  #requests = 0
  #hiding = 0

  constructor(places: Places) {
    this.#place = placeFinder(places)
  }

  /** Counts one record. */
  add(event: LogEvent): void {
    const place = this.#place(event.peer)
    const name = classOf(event, place)
    if (event.kind === 'request') {
      this.#requests++
      if (hiding.has(name)) this.#hiding++
    }
    const listener = event.kind === 'request' ? undefined : event.listener
    const key = [name, place, listener ?? ''].join(' ')
    const row = this.#rows.get(key)
    if (row !== undefined) {
      row.peers.add(event.peer)
      return
    }
    // whoever writes into the log could name a listener of its own with every line
    if (this.#rows.size >= mostRows) return
    const peers = new PeerCount()
    peers.add(event.peer)
    this.#rows.set(key, {class: name, place, line: event.line, peers, ...(listener === undefined ? {} : {listener})})
  }

  /** What was seen so far, worst first. */
  rows(): LogEvidence[] {
    const hidden = this.#requests >= enoughRequests && this.#hiding === this.#requests
    return [...this.#rows.values()]
      .map(({peers, ...row}): LogEvidence => {
        const judged =
          hidden && hiding.has(row.class) ? ({severity: 'warning', meaning: lost} as const) : meanings[row.class]
        return {...row, ...judged, ...peers.most()}
      })
      .toSorted((a, b) => severityRank[a.severity] - severityRank[b.severity] || a.line - b.line)
  }
}
