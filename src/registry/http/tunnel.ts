import type https from 'node:https'
import net, {type Socket} from 'node:net'
import type {ConnectionOptions} from 'node:tls'
import {SrcipError} from '../../model/errors.ts'
import {cleanText} from '../text.ts'
import {basicOf, NetworkFault} from './network-fault.ts'
import type {TrustStore} from './trust.ts'

/** Longest head of a proxy's answer to CONNECT. */
const headLimit = 16 * 1024

type Created = (error: Error | null, socket?: Socket) => void

/** Makes an https agent reach its origin through CONNECT (RFC 9110, 9.3.6) at a forward proxy. */
export function openTunnel(
  agent: https.Agent,
  proxy: URL,
  target: URL,
  tlsOptions: ConnectionOptions,
  trust: TrustStore,
): void {
  const place = agent as unknown as {createConnection: (options: unknown, created: Created) => undefined}
  place.createConnection = (_options, created) => {
    connect(proxy, target, trust).then((socket) => {
      const secure = process.getBuiltinModule('node:tls').connect({
        ...tlsOptions,
        socket,
        ...(net.isIP(target.hostname) === 0 ? {servername: target.hostname} : {}),
      })
      secure.once('secureConnect', () => created(null, secure))
      secure.once('error', (error) => created(error))
    }, created)
    return undefined
  }
}

function connect(proxy: URL, target: URL, trust: TrustStore): Promise<Socket> {
  const authority = `${target.hostname}:${target.port === '' ? '443' : target.port}`
  const port = Number(proxy.port === '' ? (proxy.protocol === 'https:' ? 443 : 80) : proxy.port)
  const host = proxy.hostname.replace(/^\[|\]$/g, '')
  return new Promise((resolve, reject) => {
    const socket =
      proxy.protocol === 'https:'
        ? process.getBuiltinModule('node:tls').connect({
            host,
            port,
            secureContext: trust.contextFor(proxy.host),
            ...(net.isIP(host) === 0 ? {servername: host} : {}),
          })
        : net.connect({host, port})
    let head = Buffer.alloc(0)
    const fail = (error: Error): void => {
      socket.destroy()
      reject(error)
    }
    socket.setTimeout(10_000, () => fail(new NetworkFault('ETIMEDOUT', `proxy ${proxy.host}: no answer within 10 s`)))
    socket.once('error', (error) =>
      fail(
        new NetworkFault(
          (error as NodeJS.ErrnoException).code ?? 'EPROXY',
          `proxy ${proxy.host}: ${error.message}`,
          error,
        ),
      ),
    )
    socket.once('close', () => reject(new NetworkFault('ECONNRESET', `proxy ${proxy.host} closed the connection`)))
    const auth = proxy.username === '' ? '' : `Proxy-Authorization: ${basicOf(proxy)}\r\n`
    socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${auth}\r\n`)
    const read = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk])
      const end = head.indexOf('\r\n\r\n')
      if (end < 0) {
        if (head.length > headLimit)
          fail(new SrcipError('Unreachable', `proxy ${proxy.host} sends no end of its answer`))
        return
      }
      socket.off('data', read)
      socket.setTimeout(0)
      const line = head.subarray(0, head.indexOf('\r\n')).toString('latin1')
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(line)?.[1] ?? 0)
      if (status !== 200) {
        fail(
          new SrcipError(
            status === 407 ? 'Denied' : 'Unreachable',
            `proxy ${proxy.host} refused ${authority}: ${cleanText(line)}`,
          ),
        )
        return
      }
      socket.removeAllListeners('close')
      socket.removeAllListeners('error')
      const rest = head.subarray(end + 4)
      if (rest.length > 0) socket.unshift(rest)
      resolve(socket)
    }
    socket.on('data', read)
  })
}
