import {randomBytes} from 'node:crypto'
import {connect} from 'node:net'
import {plainAddress} from '../../model/address.ts'
import {encodeHeader} from '../header/encode.ts'
import type {ProxyVersion} from '../header/types.ts'
import type {ProbeKind} from '../options.ts'
import {isDecided, probeRequest, readOutcome, type Observation, type Outcome} from './probe-bytes.ts'

export interface ProbeOrder {
  readonly address: string
  readonly port: number
  readonly kind: ProbeKind
  /** Version of the header in front; undefined for a bare probe. */
  readonly version: ProxyVersion | undefined
  /** Port of the Service, as real connections name it in their header. */
  readonly servicePort: number
  readonly instance: string
  readonly host: string
  /** Milliseconds for everything. */
  readonly timeout: number
}

/** How long a port without a known protocol must leave the connection open to count as taking the header. */
const tcpPatience = 200

/** Opens one connection, sends the probe, reads the first bytes of the answer, resets. Never rejects. */
export async function probe(order: ProbeOrder): Promise<Outcome> {
  return readOutcome(order.kind, await observe(order))
}

function observe(order: ProbeOrder): Promise<Observation> {
  return new Promise((resolve) => {
    const socket = connect({host: order.address, port: order.port, noDelay: true})
    let bytes = Buffer.alloc(0)
    let isConnected = false
    let timer = setTimeout(() => finish(isConnected ? 'time' : 'no-connection'), order.timeout)
    const finish = (end: Observation['end']) => {
      clearTimeout(timer)
      resolve({bytes, end})
      // A reset leaves no TIME_WAIT behind; four probes a second for each endpoint would pile them up.
      if (!socket.destroyed) socket.resetAndDestroy()
    }
    socket.on('connect', () => {
      isConnected = true
      const ends = [
        {address: plainAddress(socket.localAddress) ?? '', port: socket.localPort ?? 0},
        {address: plainAddress(order.address) ?? '', port: order.servicePort},
      ] as const
      const header = order.version === undefined ? Buffer.alloc(0) : encodeHeader(order.version, ...ends)
      const request = probeRequest(order.kind, order.instance, order.host, randomBytes(64))
      if (header.length + request.length > 0) socket.write(Buffer.concat([header, request]))
      if (order.kind === 'tcp') {
        clearTimeout(timer)
        timer = setTimeout(() => finish('time'), Math.min(tcpPatience, order.timeout))
      }
    })
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      if (isDecided(order.kind, bytes)) finish('bytes')
    })
    socket.on('error', () => finish(isConnected ? 'closed' : 'no-connection'))
    socket.on('close', () => finish(isConnected ? 'closed' : 'no-connection'))
  })
}
