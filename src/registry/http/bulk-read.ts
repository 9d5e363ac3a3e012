import net from 'node:net'
import {limits} from '../limits.ts'
import {NetworkFault} from './network-fault.ts'

/** One buffer for a whole transfer: fits a core's cache, so hashing finds the bytes where the kernel put them. */
const bufferSize = 1024 * 1024

export interface BulkRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** First byte wanted; 0 for all. */
  readonly offset: number
  /** Bytes of the whole content. */
  readonly size: number
  readonly connectTimeout: number
  readonly stallTimeout: number
  /** Called with a way to end the transfer, for a stop from outside. */
  readonly onOpen: (destroy: (error: Error) => void) => void
}

/** Takes bytes; they may be overwritten once the promise settles, or at once where there is none. */
export type BulkSink = (chunk: Buffer) => Promise<void> | undefined

/**
 * Reads a large body over a plain connection of its own, into one buffer that is used again and again: half the processor time
 * of a stream of fresh buffers. Only the plainest answer is taken: status 200 or 206 with exactly the length expected.
 * @returns false when the answer is anything else; nothing has reached the sink then, and the usual way is to be taken
 * @throws NetworkFault when the connection breaks; what the sink throws
 */
export function readBulk(request: BulkRequest, sink: BulkSink): Promise<boolean> {
  const {url, offset, size} = request
  const expected = size - offset
  return new Promise((resolve, reject) => {
    let head: Buffer | undefined = Buffer.alloc(0)
    let received = 0
    let busy = false
    let last = Date.now()
    let over = false
    const end = (outcome: () => void): void => {
      if (over) return
      over = true
      clearInterval(timer)
      socket.destroy()
      outcome()
    }
    const fail = (error: unknown): void => end(() => reject(error))
    const timer = setInterval(() => {
      const limit = socket.connecting ? request.connectTimeout : request.stallTimeout
      if (!busy && Date.now() - last >= limit) fail(new NetworkFault('STALL', `no byte for ${limit / 1000} s`))
    }, 1000)
    const deliver = (chunk: Buffer): boolean => {
      if (chunk.length === 0) return true
      received += chunk.length
      if (received > expected) {
        fail(new NetworkFault('ECONNRESET', 'more bytes than announced'))
        return false
      }
      const pending = sink(chunk)
      if (pending === undefined) {
        if (received === expected) end(() => resolve(true))
        return true
      }
      busy = true
      pending.then(() => {
        busy = false
        last = Date.now()
        if (received === expected) end(() => resolve(true))
        else socket.resume()
      }, fail)
      return false
    }
    const take = (count: number, buffer: Uint8Array): boolean => {
      if (over) return false
      last = Date.now()
      const chunk = Buffer.from(buffer.buffer, buffer.byteOffset, count)
      try {
        if (head === undefined) return deliver(chunk)
        head = Buffer.concat([head, chunk])
        const stop = head.indexOf('\r\n\r\n')
        if (stop < 0 && head.length <= limits.headers) return true
        const rest = head.subarray(stop + 4)
        if (stop < 0 || !isPlain(head.toString('latin1', 0, stop), request)) {
          end(() => resolve(false))
          return false
        }
        head = undefined
        return deliver(rest)
      } catch (error) {
        fail(error)
        return false
      }
    }
    const socket = net.connect({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: Number(url.port === '' ? 80 : url.port),
      onread: {buffer: Buffer.allocUnsafeSlow(bufferSize), callback: take},
    })
    request.onOpen(fail)
    const range = offset === 0 ? '' : `Range: bytes=${offset}-\r\n`
    const lines = Object.entries(request.headers).map(([name, value]) => `${name}: ${value.replace(/[\r\n]/g, '')}\r\n`)
    socket.write(
      `GET ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n${range}${lines.join('')}\r\n`,
    )
    socket.on('error', (error: NodeJS.ErrnoException) =>
      fail(new NetworkFault(error.code ?? 'ECONNRESET', `${url.host}: ${error.message}`, error)),
    )
    socket.on('close', () => {
      if (!busy) fail(new NetworkFault('ECONNRESET', 'the connection was closed early'))
    })
    socket.on('end', () => {
      if (!busy && received < expected) fail(new NetworkFault('ECONNRESET', 'the connection was closed early'))
    })
  })
}

/** The answer that needs no further thought: right status, exact length, no encoding. */
function isPlain(head: string, {offset, size}: BulkRequest): boolean {
  const [statusLine = '', ...lines] = head.split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(`${statusLine} `)?.[1]
  if (status !== (offset === 0 ? '200' : '206')) return false
  const headers = new Map<string, string>()
  for (const line of lines) {
    const match = /^([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*(.*?)[ \t]*$/.exec(line)
    if (match === null) return false
    const name = (match[1] ?? '').toLowerCase()
    if (headers.has(name) && (name === 'content-length' || name === 'content-range')) return false
    headers.set(name, match[2] ?? '')
  }
  if (headers.has('transfer-encoding') || (headers.get('content-encoding') ?? 'identity') !== 'identity') return false
  if (headers.get('content-length') !== String(size - offset)) return false
  return offset === 0 || headers.get('content-range') === `bytes ${offset}-${size - 1}/${size}`
}
