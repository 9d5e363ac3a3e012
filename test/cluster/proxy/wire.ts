import {once} from 'node:events'
import {connect, createServer, type AddressInfo, type Server, type Socket} from 'node:net'
import {readHeader} from '../../../src/proxy/header/decode.ts'

/** Everything a connection gives until it ends; `reset` says how it ended. */
export interface Received {
  readonly bytes: Buffer
  readonly reset: boolean
}

export function collect(socket: Socket): Promise<Received> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let reset = false
    socket.on('data', (chunk: Buffer) => parts.push(chunk))
    socket.on('error', () => (reset = true))
    socket.on('close', () => resolve({bytes: Buffer.concat(parts), reset}))
  })
}

/** A connection from `localAddress` (loopback) that is open on return. */
export function dial(port: number, host = '127.0.0.1', localAddress?: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({port, host, allowHalfOpen: true, noDelay: true, ...(localAddress ? {localAddress} : {})})
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}

/** Sends bytes, ends, and gives what comes back. Connections that are refused or reset give what came. */
export async function exchange(port: number, bytes: Buffer, host?: string): Promise<Received> {
  const socket = connect({port, host: host ?? '127.0.0.1', noDelay: true})
  const received = collect(socket)
  socket.end(bytes)
  return received
}

/** The next bytes of a socket. */
export async function nextBytes(socket: Socket): Promise<Buffer> {
  const ended = new AbortController()
  const end = () => ended.abort(new Error('the connection ended'))
  socket.once('end', end)
  try {
    const [bytes] = (await once(socket, 'data', {signal: ended.signal})) as [Buffer]
    return bytes
  } finally {
    socket.off('end', end)
  }
}

export interface Backend {
  readonly port: number
  readonly server: Server
  /** Connections accepted so far. */
  readonly sockets: Socket[]
  close(): Promise<void>
}

/** A TCP server on loopback; half-open connections stay open. */
export function backend(handle: (socket: Socket) => void, port = 0, host = '127.0.0.1'): Promise<Backend> {
  const sockets: Socket[] = []
  const server = createServer({allowHalfOpen: true, noDelay: true}, (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    handle(socket)
  })
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () =>
      resolve({
        port: (server.address() as AddressInfo).port,
        server,
        sockets,
        close: () =>
          new Promise((closed) => {
            for (const socket of sockets) socket.destroy()
            server.close(() => closed())
          }),
      }),
    )
  })
}

/** A backend that takes the PROXY header off and hands the connection on with it; bytes behind the header are put back. */
export function headerBackend(
  handle: (socket: Socket, source: string | undefined, header: Buffer) => void,
  port = 0,
  host?: string,
): Promise<Backend> {
  return backend(
    (socket) => {
      let seen = Buffer.alloc(0)
      const read = (chunk: Buffer) => {
        seen = Buffer.concat([seen, chunk])
        const header = readHeader(seen)
        if (header.status === 'more') return
        socket.off('data', read)
        socket.pause()
        if (header.status === 'refused') {
          socket.destroy()
          return
        }
        if (seen.length > header.length) socket.unshift(seen.subarray(header.length))
        handle(socket, header.header.source?.address, seen.subarray(0, header.length))
        socket.resume()
      }
      socket.on('data', read)
    },
    port,
    host,
  )
}

const block = Buffer.alloc(1_048_573)
for (let index = 0, value = 1; index < block.length; index++) {
  value = (value * 1_103_515_245 + 12_345) & 0x7fffffff
  block[index] = value >> 16
}

/** Writes `total` bytes of a pattern whose every position is known, with back-pressure, and ends. */
export function writePattern(socket: Socket, total: number): void {
  let sent = 0
  const more = () => {
    while (sent < total) {
      const chunk = block.subarray(0, Math.min(block.length, total - sent))
      sent += chunk.length
      if (!socket.write(chunk)) {
        socket.once('drain', more)
        return
      }
    }
    socket.end()
  }
  more()
}

/** Reads a pattern to its end and compares every byte. Resolves with the number of equal bytes; rejects at the first that differs. */
export function readPattern(socket: Socket): Promise<number> {
  return new Promise((resolve, reject) => {
    let got = 0
    socket.on('data', (chunk: Buffer) => {
      for (let at = 0; at < chunk.length;) {
        const offset = got % block.length
        const length = Math.min(chunk.length - at, block.length - offset)
        if (chunk.compare(block, offset, offset + length, at, at + length) !== 0) {
          reject(new Error(`a byte near ${got} differs`))
          socket.destroy()
          return
        }
        at += length
        got += length
      }
    })
    socket.on('end', () => resolve(got))
    socket.on('error', reject)
  })
}
