import {createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http'
import {createServer, type AddressInfo, type Server as NetServer, type Socket} from 'node:net'
import {createSecureContext, TLSSocket} from 'node:tls'
import {isTrusted, readHeader, refusals, type Log, type ProxyHeader, type Refusal} from '../proxy/index.ts'
import {plainAddress} from '../model/address.ts'
import {decide, type Seen} from './decide.ts'
import type {WhoamiOptions} from './options.ts'

type Protocol = 'http' | 'https' | 'tcp'

/** What is known of a connection before anything is read as HTTP. */
type Opened = Pick<Seen, 'peer' | 'local' | 'header'>

/** Milliseconds: nobody needs long to ask who they are. */
const requestLimit = 10_000

/**
 * The echo behind `whoami`: every port takes connections with and without a PROXY header and answers with what it saw.
 * Each answer ends its connection, so that the next question is a fresh one.
 */
export class WhoamiServer {
  readonly #options: WhoamiOptions
  readonly #log: Log
  readonly #http: Server
  readonly #listeners: NetServer[] = []
  readonly #sockets = new Set<Socket>()
  readonly #opened = new WeakMap<Socket, Opened>()

  constructor(options: WhoamiOptions, log: Log) {
    this.#options = options
    this.#log = log
    this.#http = createHttpServer({
      requestTimeout: requestLimit,
      headersTimeout: requestLimit,
      joinDuplicateHeaders: true,
    })
    this.#http.on('request', (request, response) => this.#answer(request, response))
  }

  /** Opens every port that the options name; resolves with the ports that were given, rejects with the system's error. */
  async listen(): Promise<{readonly [P in Protocol]?: number}> {
    const given: {[P in Protocol]?: number} = {}
    for (const protocol of ['http', 'https', 'tcp'] as const) {
      const port = this.#options.ports[protocol]
      if (port !== undefined) given[protocol] = await this.#open(protocol, port)
    }
    return given
  }

  close(): void {
    for (const listener of this.#listeners) listener.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #open(protocol: Protocol, port: number): Promise<number> {
    const listener = createServer((socket) => this.#take(protocol, socket))
    listener.maxConnections = this.#options.maxConnections
    this.#listeners.push(listener)
    return new Promise((resolve, reject) => {
      listener.once('error', reject)
      listener.listen({port, host: this.#options.listen}, () => resolve((listener.address() as AddressInfo).port))
    })
  }

  #take(protocol: Protocol, socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    const peer = {address: plainAddress(socket.remoteAddress) ?? '', port: socket.remotePort ?? 0}
    const local = {address: plainAddress(socket.localAddress) ?? '', port: socket.localPort ?? 0}
    const refuse = (reason: Refusal): void => {
      this.#log('header', `connection of ${peer.address} cut: ${refusals[reason]}`)
      socket.destroy()
    }
    let bytes = Buffer.alloc(0)
    const proceed = (header: ProxyHeader | undefined, rest: Buffer): void => {
      clearTimeout(timer)
      socket.off('readable', onReadable)
      if (header === undefined && this.#options.demandsHeader && isTrusted(this.#options.trusted, peer.address))
        return refuse(rest.length === 0 ? 'too-slow' : 'no-header')
      if (rest.length > 0) socket.unshift(rest)
      this.#serve(protocol, socket, {peer, local, header})
    }
    // A client may wait for us to speak first; one that has begun a header and stops is cut.
    const timer = setTimeout(
      () => (bytes.length === 0 ? proceed(undefined, bytes) : refuse('too-slow')),
      this.#options.headerTimeout,
    )
    const onReadable = (): void => {
      const chunk = socket.read() as Buffer | null
      if (chunk === null) return
      bytes = Buffer.concat([bytes, chunk])
      const read = readHeader(bytes)
      if (read.status === 'more') return
      if (read.status === 'header') return proceed(read.header, bytes.subarray(read.length))
      if (read.reason === 'no-header' || read.reason === 'tls-hello') return proceed(undefined, bytes)
      clearTimeout(timer)
      refuse(read.reason)
    }
    socket.once('close', () => clearTimeout(timer))
    socket.on('readable', onReadable)
  }

  #serve(protocol: Protocol, socket: Socket, opened: Opened): void {
    if (protocol === 'tcp') {
      const answer = decide({...opened, tls: null}, this.#options.trusted)
      socket.end(`${JSON.stringify(answer)}\n`)
      return
    }
    if (protocol === 'http') {
      this.#opened.set(socket, opened)
      this.#http.emit('connection', socket)
      return
    }
    const secure = new TLSSocket(socket, {
      isServer: true,
      secureContext: createSecureContext(this.#options.certificate ?? {}),
      ALPNProtocols: ['http/1.1'],
    })
    this.#opened.set(secure, opened)
    secure.on('error', (error) => {
      this.#log('tls', `handshake with ${opened.peer.address} failed: ${error.message}`)
      socket.destroy()
    })
    this.#http.emit('connection', secure)
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const opened = this.#opened.get(request.socket)
    if (opened === undefined) return void request.socket.destroy()
    const {socket} = request
    const answer = decide(
      {
        ...opened,
        tls:
          socket instanceof TLSSocket ? {protocol: socket.getProtocol() ?? '', serverName: serverNameOf(socket)} : null,
        request: {
          method: request.method ?? '',
          host: request.headers.host ?? '',
          target: request.url ?? '',
          fields: textFields(request),
        },
      },
      this.#options.trusted,
    )
    request.resume()
    const body = Buffer.from(`${JSON.stringify(answer, null, 2)}\n`)
    response.writeHead(200, {
      'content-length': body.length,
      'content-type': 'application/json',
      'cache-control': 'no-store',
      connection: 'close',
      'x-content-type-options': 'nosniff',
    })
    response.end(request.method === 'HEAD' ? undefined : body)
  }
}

function textFields(request: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request.headersDistinct).map(([name, values]) => [name, (values ?? []).join(', ')]),
  )
}

function serverNameOf(socket: TLSSocket): string {
  const name = (socket as TLSSocket & {servername?: string | false | null}).servername
  return typeof name === 'string' ? name : ''
}
