import {connect as connectTcp, isIP} from 'node:net'
import type {Socket} from 'node:net'
import {connect as connectTls} from 'node:tls'
import {bareHost} from './no-proxy.ts'
import {networkError, readUntil} from './socket-reading.ts'
import type {Endpoint} from './socket-reading.ts'
import {dialSocks5} from './socks5.ts'

/**
 * Opens a TCP connection to `target` through a proxy: CONNECT for http and https proxies, SOCKS5 with the name resolved
 * by the proxy otherwise.
 * @param signal ends the attempt
 * @throws errors with a system code, or EPROXY when the proxy itself says no
 */
export async function dialThroughProxy(proxy: URL, target: Endpoint, signal: AbortSignal): Promise<Socket> {
  const socket = await openProxy(proxy, signal)
  const abort = (): void => void socket.destroy(signal.reason as Error)
  signal.addEventListener('abort', abort, {once: true})
  try {
    if (proxy.protocol.startsWith('socks5')) await dialSocks5(socket, proxy, target)
    else await requestTunnel(socket, proxy, target)
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

async function openProxy(proxy: URL, signal: AbortSignal): Promise<Socket> {
  const secure = proxy.protocol === 'https:'
  const host = bareHost(proxy.hostname)
  const standard = secure ? 443 : proxy.protocol === 'http:' ? 80 : 1080
  const where = {
    host,
    port: proxy.port === '' ? standard : Number(proxy.port),
    keepAlive: true,
    keepAliveInitialDelay: 15_000,
  }
  const socket = secure ? connectTls({...where, servername: isIP(host) === 0 ? host : ''}) : connectTcp(where)
  await settled(socket, secure ? 'secureConnect' : 'connect', signal)
  return socket
}

/** Resolves at `event`; rejects at error, end or abort. */
async function settled(socket: Socket, event: string, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const done = (settle: () => void): void => {
      socket.removeListener('error', onError)
      socket.removeListener('close', onClose)
      signal.removeEventListener('abort', onAbort)
      settle()
    }
    const onError = (error: Error): void => done(() => reject(error))
    const onClose = (): void => done(() => reject(networkError('ECONNRESET', 'the proxy closed the connection')))
    const onAbort = (): void => {
      socket.destroy()
      done(() => reject(signal.reason as Error))
    }
    socket.once('error', onError)
    socket.once('close', onClose)
    socket.once(event, () => done(resolve))
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, {once: true})
  })
}

const maxTunnelHead = 16 * 1024

async function requestTunnel(socket: Socket, proxy: URL, target: Endpoint): Promise<void> {
  const authority = `${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`
  const credential = proxyAuthorization(proxy)
  const lines = [`CONNECT ${authority} HTTP/1.1`, `Host: ${authority}`]
  if (credential !== undefined) lines.push(`Proxy-Authorization: ${credential}`)
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  const head = await readUntil(socket, (bytes) => {
    const end = bytes.indexOf('\r\n\r\n')
    if (end < 0 && bytes.length > maxTunnelHead) throw networkError('EPROXY', 'the proxy sent no answer that is HTTP')
    return end < 0 ? undefined : end + 4
  })
  const status = /^HTTP\/1\.[01] (\d{3})/.exec(head.toString('latin1'))?.[1]
  if (status === undefined) throw networkError('EPROXY', 'the proxy sent no answer that is HTTP')
  if (!status.startsWith('2')) throw networkError('EPROXY', `the proxy refused the connection (HTTP ${status})`)
}

/** `Basic …` from the user and password of a proxy URL. */
export function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === '' && proxy.password === '') return undefined
  const pair = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}
