import {classifyFirstBytes, type FirstBytes} from './first-bytes.ts'
import type {Segment} from './packets.ts'
import {PeerCount} from './peers.ts'
import {placeOf, type Place, type Places} from './places.ts'

/** How connections to one port begin, for each kind of beginning and place of the peer. */
export interface CaptureEvidence {
  readonly port: number
  readonly first: FirstBytes | 'not captured'
  readonly place: Place
  /** Most frequent first, at most five. */
  readonly peers: readonly string[]
  readonly count: number
}

export interface CaptureReading {
  readonly evidence: readonly CaptureEvidence[]
  /** Connections whose first packet is not in the capture: nothing is said about them. */
  readonly alreadyOpen: number
}

interface Connection {
  readonly client: string
  readonly port: number
  /** Sequence number of the first byte that the client sends. */
  readonly begin: number
  first?: CaptureEvidence['first']
}

/**
 * Looks at the first data of every connection whose SYN is in the capture; what comes later says nothing about the header
 * (PROXY protocol specification, section 2). Prints class and peer, never the bytes.
 */
export function judgeCapture(
  segments: readonly Segment[],
  places: Places,
  ports: readonly number[] = [],
): CaptureReading {
  const open = new Map<string, Connection>()
  const done: Connection[] = []
  const strangers = new Set<string>()
  for (const segment of segments) {
    const key = `${segment.from.address} ${segment.from.port} ${segment.to.address} ${segment.to.port}`
    const back = `${segment.to.address} ${segment.to.port} ${segment.from.address} ${segment.from.port}`
    if (segment.syn && !segment.ack) {
      const known = open.get(key)
      // The same packet on a second interface, or sent again.
      if (known !== undefined && known.begin === beginOf(segment)) continue
      if (known !== undefined) done.push(known)
      open.set(key, {client: segment.from.address, port: segment.to.port, begin: beginOf(segment)})
      continue
    }
    const connection = open.get(key)
    if (connection === undefined) {
      if (!open.has(back) && segment.length > 0 && !segment.syn) strangers.add([key, back].toSorted()[0]!)
      continue
    }
    if (segment.length === 0 || (connection.first !== undefined && connection.first !== 'not captured')) continue
    // Text captures number the data of a connection from 1 on.
    const isFirst = segment.seq === connection.begin || segment.seq === 1
    connection.first = isFirst && segment.payload !== undefined ? classifyFirstBytes(segment.payload) : 'not captured'
  }
  done.push(...open.values())
  const rows = new Map<string, {row: Omit<CaptureEvidence, 'peers' | 'count'>; peers: PeerCount}>()
  for (const {client, port, first = 'nothing'} of done) {
    if (ports.length > 0 && !ports.includes(port)) continue
    const place = placeOf(client, places)
    const key = `${port} ${first} ${place}`
    const entry = rows.get(key) ?? {row: {port, first, place}, peers: new PeerCount()}
    entry.peers.add(client)
    rows.set(key, entry)
  }
  const evidence = [...rows.values()].map(({row, peers}) => ({...row, ...peers.most()}))
  return {
    evidence: evidence.toSorted((a, b) => a.port - b.port || b.count - a.count),
    alreadyOpen: strangers.size,
  }
}

function beginOf({seq}: Segment): number {
  return (seq + 1) >>> 0
}
