import {createServer} from 'node:http'
import type {IncomingMessage, Server} from 'node:http'
import {connect, createServer as createTcpServer} from 'node:net'
import type {AddressInfo, Server as TcpServer, Socket} from 'node:net'

/** An HTTP proxy for tests: tunnels every CONNECT, and forwards every request, to one port on loopback. */
export class ConnectProxy {
  /** `CONNECT host:port` and `GET http://…`, as they came. */
  readonly seen: string[] = []
  readonly authorizations: (string | undefined)[] = []
  /** Status that is answered instead of a tunnel. */
  refuse: number | undefined
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(target: () => number) {
    this.#server = createServer((request, response) => {
      this.seen.push(`${request.method} ${request.url}`)
      this.authorizations.push(request.headers['proxy-authorization'])
      response.writeHead(502).end()
    })
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    this.#server.on('connect', (request: IncomingMessage, socket: Socket) => {
      this.seen.push(`CONNECT ${request.url}`)
      this.authorizations.push(request.headers['proxy-authorization'])
      if (this.refuse !== undefined) {
        socket.end(`HTTP/1.1 ${this.refuse} No\r\n\r\n`)
        return
      }
      const upstream = connect(target(), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\nX: y\r\n\r\n')
        socket.pipe(upstream).pipe(socket)
      })
      upstream.on('error', () => socket.destroy())
      socket.on('error', () => upstream.destroy())
      socket.on('close', () => upstream.destroy())
    })
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}

/** A SOCKS5 proxy (RFC 1928) that leads every connection to one port on loopback. */
export class SocksProxy {
  readonly seen: string[] = []
  /** `user:password` that is asked for. */
  login: string | undefined
  /** Reply code; 0 lets everything through. */
  reply = 0
  readonly #server: TcpServer

  constructor(target: () => number) {
    this.#server = createTcpServer((socket) => void this.#serve(socket, target).catch(() => socket.destroy()))
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  async #serve(socket: Socket, target: () => number): Promise<void> {
    socket.on('error', () => undefined)
    const read = async (): Promise<Buffer> => await new Promise((resolve) => socket.once('data', resolve))
    const methods = await read()
    const wanted = this.login === undefined ? 0 : 2
    socket.write(Buffer.from([5, methods.subarray(2).includes(wanted) ? wanted : 0xff]))
    if (wanted === 2) {
      const login = await read()
      const length = login[1] ?? 0
      const given = `${login.subarray(2, 2 + length).toString()}:${login.subarray(3 + length).toString()}`
      socket.write(Buffer.from([1, given === this.login ? 0 : 1]))
      if (given !== this.login) return
    }
    const request = await read()
    const host = request[3] === 1 ? request.subarray(4, 8).join('.') : request.subarray(5, -2).toString()
    this.seen.push(`${host}:${request.readUInt16BE(request.length - 2)}`)
    socket.write(Buffer.from([5, this.reply, 0, 1, 0, 0, 0, 0, 0, 0]))
    if (this.reply !== 0) return
    const upstream = connect(target(), '127.0.0.1')
    upstream.on('error', () => socket.destroy())
    socket.on('close', () => upstream.destroy())
    socket.pipe(upstream).pipe(socket)
  }
}
