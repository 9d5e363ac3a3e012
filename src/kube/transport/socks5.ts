import {isIPv4} from 'node:net'
import type {Socket} from 'node:net'
import {networkError, readUntil} from './socket-reading.ts'
import type {Endpoint} from './socket-reading.ts'

/** RFC 1928 section 6, the reply field. */
const replies: Readonly<Record<number, string>> = {
  1: 'general failure',
  2: 'connection not allowed',
  3: 'network unreachable',
  4: 'host unreachable',
  5: 'connection refused',
  6: 'TTL expired',
  7: 'command not supported',
  8: 'address type not supported',
}

/**
 * Speaks SOCKS5 (RFC 1928, user and password of RFC 1929) on a fresh connection to the proxy. Names are sent as names,
 * as Go does for socks5 and socks5h alike.
 */
export async function dialSocks5(socket: Socket, proxy: URL, target: Endpoint): Promise<void> {
  const withPassword = proxy.username !== ''
  socket.write(Buffer.from(withPassword ? [5, 2, 0, 2] : [5, 1, 0]))
  const chosen = await readUntil(socket, (bytes) => (bytes.length < 2 ? undefined : 2))
  if (chosen[0] !== 5) throw networkError('EPROXY', 'the proxy does not speak SOCKS5')
  if (chosen[1] === 2 && withPassword) await sendPassword(socket, proxy)
  else if (chosen[1] !== 0) throw networkError('EPROXY', 'the SOCKS5 proxy wants a login')
  socket.write(Buffer.concat([Buffer.from([5, 1, 0]), address(target.host), port(target.port)]))
  const answer = await readUntil(socket, (bytes) => (bytes.length < 5 ? undefined : replyLength(bytes)))
  const code = answer[1] ?? 1
  if (code !== 0) throw networkError('EPROXY', `the SOCKS5 proxy refused: ${replies[code] ?? `code ${code}`}`)
}

async function sendPassword(socket: Socket, proxy: URL): Promise<void> {
  const user = Buffer.from(decodeURIComponent(proxy.username))
  const password = Buffer.from(decodeURIComponent(proxy.password))
  if (user.length > 255 || password.length > 255) throw networkError('EPROXY', 'SOCKS5 logins hold 255 bytes at most')
  socket.write(Buffer.concat([Buffer.from([1, user.length]), user, Buffer.from([password.length]), password]))
  const answer = await readUntil(socket, (bytes) => (bytes.length < 2 ? undefined : 2))
  if (answer[1] !== 0) throw networkError('EPROXY', 'the SOCKS5 proxy refused the login')
}

function address(host: string): Buffer {
  if (isIPv4(host)) return Buffer.from([1, ...host.split('.').map(Number)])
  const name = Buffer.from(host)
  if (name.length > 255) throw networkError('EPROXY', 'the name of the API server is too long for SOCKS5')
  return Buffer.concat([Buffer.from([3, name.length]), name])
}

function port(value: number): Buffer {
  return Buffer.from([value >> 8, value & 0xff])
}

/** VER REP RSV ATYP BND.ADDR BND.PORT; undefined while bytes are missing. */
function replyLength(bytes: Buffer): number | undefined {
  const kind = bytes[3]
  const size = kind === 1 ? 4 : kind === 4 ? 16 : 1 + (bytes[4] ?? 0)
  return bytes.length < 4 + size + 2 ? undefined : 4 + size + 2
}
