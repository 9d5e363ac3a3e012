import {Duplex} from 'node:stream'
import type {IncomingMessage} from 'node:http'
import {KubeFailure} from '../failures/failure.ts'
import {abortedFailure, decodeFailure, networkFailure} from '../failures/from-network.ts'
import type {CallPlace} from '../failures/from-network.ts'
import {readStatus, statusFailure} from '../failures/from-status.ts'
import {oneLine} from '../failures/subject.ts'
import {resources} from '../resources.ts'
import type {CallOptions, ObjectKey} from '../types.ts'
import {readBody} from './body.ts'
import {objectPath, queryText} from './paths.ts'
import type {Requester} from './requester.ts'
import {openScope} from './scope.ts'
import type {WebSocket} from 'ws'

/** The only subprotocol that API servers up to 1.36 take for port-forward over WebSocket. */
const subprotocol = 'v4.channel.k8s.io'
const dataChannel = 0
const errorChannel = 1
/** The first message on each channel repeats the port, two bytes. */
const portPrefixBytes = 2
const openMs = 15_000
/** Far below the 32 MiB at which the server breaks, small enough to interleave with other traffic. */
const maxMessageBytes = 64 * 1024
const maxErrorText = 4096

/**
 * Opens one TCP connection to a port of a pod through the API server. Closing the WebSocket is the only FIN there is,
 * so `end()` closes both directions: read the whole answer first.
 * @throws KubeFailure: 403 without `get` and `create` on pods/portforward, 404, or transport when nothing can be opened.
 *   A port that nobody listens on shows up as an error of the stream.
 */
export async function openPortForward(
  requester: Requester,
  pod: ObjectKey,
  port: number,
  options: CallOptions,
): Promise<Duplex> {
  const about = {verb: 'create', resource: resources.pods, subresource: 'portforward', ...pod}
  const place: CallPlace = {config: requester.config, about}
  const scope = openScope(requester.clock, options.timeoutMs ?? openMs, options.signal, requester.closed)
  try {
    let credential = await requester.credential(scope.signal)
    for (let renewed = false; ; renewed = true) {
      const agent = await requester.transport.agent(credential.pair, true)
      const path = objectPath(resources.pods, pod, 'portforward') + queryText({ports: port})
      const url = `${requester.transport.server.origin.replace(/^http/, 'ws')}${requester.transport.basePath}${path}`
      const {WebSocket: Socket} = await import('./websocket.ts')
      const socket = new Socket(url, subprotocol, {
        agent,
        headers: flatHeaders(requester.headers(credential)),
        perMessageDeflate: false,
        maxPayload: 32 * 1024 * 1024,
        followRedirects: false,
      })
      const failure = await opened(socket, place, scope.signal)
      if (failure === undefined) return new PortForwardStream(socket, place, requester.closed)
      const used = credential
      if (failure.status !== 401 || renewed || !(await requester.renewCredential(used, scope.signal))) throw failure
      credential = await requester.credential(scope.signal)
    }
  } catch (error) {
    if (error instanceof KubeFailure) throw error
    throw scope.signal.aborted ? abortedFailure(place, scope.signal.reason) : networkFailure(error, place)
  } finally {
    scope.dispose()
  }
}

/** ws hands its headers to node:http, which sends a list as several lines, as impersonation with groups needs it. */
function flatHeaders(headers: Readonly<Record<string, string | readonly string[]>>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
  )
}

/** Waits for the upgrade; an HTTP answer instead of it becomes a failure, anything below HTTP is thrown. */
async function opened(socket: WebSocket, place: CallPlace, signal: AbortSignal): Promise<KubeFailure | undefined> {
  return await new Promise<KubeFailure | undefined>((resolve, reject) => {
    const onAbort = (): void => {
      socket.terminate()
      reject(signal.reason as Error)
    }
    const settle = (run: () => void): void => {
      signal.removeEventListener('abort', onAbort)
      run()
    }
    signal.addEventListener('abort', onAbort, {once: true})
    socket.once('open', () => settle(() => resolve(undefined)))
    socket.on('error', (error) => settle(() => reject(error)))
    socket.once('unexpected-response', (_request: unknown, response: IncomingMessage) => {
      readBody(response, 1024 * 1024, place)
        .catch(() => Buffer.alloc(0))
        .then((body) =>
          settle(() => resolve(statusFailure(response.statusCode ?? 500, readStatus(body), place, undefined))),
        )
        .catch(reject)
    })
    if (signal.aborted) onAbort()
  })
}

/** The data channel of a port-forward as an ordinary stream with back-pressure in both directions. */
class PortForwardStream extends Duplex {
  readonly #socket: WebSocket
  readonly #place: CallPlace
  readonly #closed: AbortSignal
  readonly #onClientClose: () => void
  readonly #prefixLeft = new Map<number, number>([
    [dataChannel, portPrefixBytes],
    [errorChannel, portPrefixBytes],
  ])
  #errorText = ''

  constructor(socket: WebSocket, place: CallPlace, closed: AbortSignal) {
    super({allowHalfOpen: true, highWaterMark: maxMessageBytes})
    this.#socket = socket
    this.#place = place
    this.#closed = closed
    this.#onClientClose = () => this.destroy(abortedFailure(place, closed.reason))
    closed.addEventListener('abort', this.#onClientClose, {once: true})
    socket.binaryType = 'nodebuffer'
    socket.on('message', (message: Buffer) => this.#receive(message))
    socket.on('close', () => this.#end())
    socket.removeAllListeners('error')
    socket.on('error', (error) => this.destroy(networkFailure(error, place)))
  }

  override _read(): void {
    if (this.#socket.isPaused) this.#socket.resume()
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const sendFrom = (from: number): void => {
      const part = chunk.subarray(from, from + maxMessageBytes)
      const message = Buffer.concat([Buffer.from([dataChannel]), part])
      this.#socket.send(message, {binary: true}, (error) => {
        if (error !== undefined && error !== null) done(networkFailure(error, this.#place))
        else if (from + maxMessageBytes < chunk.length) sendFrom(from + maxMessageBytes)
        else done()
      })
    }
    sendFrom(0)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.close()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#closed.removeEventListener('abort', this.#onClientClose)
    this.#socket.terminate()
    done(error)
  }

  #receive(message: Buffer): void {
    const channel = message[0]
    if (channel !== dataChannel && channel !== errorChannel) {
      this.destroy(decodeFailure(this.#place, 'a message on an unknown channel'))
      return
    }
    const skip = Math.min(this.#prefixLeft.get(channel) ?? 0, message.length - 1)
    this.#prefixLeft.set(channel, (this.#prefixLeft.get(channel) ?? 0) - skip)
    const payload = message.subarray(1 + skip)
    if (payload.length === 0) return
    if (channel === errorChannel) this.#errorText = (this.#errorText + payload.toString('utf8')).slice(0, maxErrorText)
    else if (!this.push(payload)) this.#socket.pause()
  }

  #end(): void {
    if (this.#errorText === '') {
      this.push(null)
      return
    }
    const {name = '', namespace = ''} = this.#place.about ?? {}
    this.destroy(
      new KubeFailure(`port-forward to pod/${namespace}/${name} failed: ${oneLine(this.#errorText, 300)}`, {
        kind: 'transport',
        code: 'Unreachable',
        reason: 'PortForward',
        serverMessage: oneLine(this.#errorText),
        about: this.#place.about,
      }),
    )
  }
}
