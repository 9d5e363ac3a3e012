import type {ProbeKind} from '../options.ts'

/**
 * What a probe says and how its answer is read. Everything here is pure.
 *
 * A probe is the smallest request that any server of its kind answers: `HEAD /` or a TLS ClientHello. It carries a mark, so that a proxy whose target
 * leads back to itself notices (the mark names the process that probes).
 */
const mark = Buffer.from('srcip-probe:', 'latin1')
/** Characters of an instance id. */
export const instanceLength = 20

/** Who sent the probe that these first bytes of a connection are: an instance id; undefined if they are no probe. */
export function probeSender(bytes: Buffer): string | undefined {
  const at = bytes.subarray(0, 600).indexOf(mark)
  if (at < 0) return undefined
  return bytes.toString('latin1', at + mark.length, at + mark.length + instanceLength)
}

/** The request of a probe. For `tcp` there is none. `random` are 64 bytes for the ClientHello. */
export function probeRequest(kind: ProbeKind, instance: string, host: string, random: Uint8Array): Buffer {
  if (kind === 'tcp') return Buffer.alloc(0)
  if (kind === 'tls') return clientHello(Buffer.concat([mark, Buffer.from(instance, 'latin1')]), host, random)
  const name = host === '' ? 'srcip-probe.invalid' : host
  const lines = [
    'HEAD / HTTP/1.1',
    `Host: ${name}`,
    'User-Agent: kubectl-srcip-probe',
    `X-Srcip-Probe: ${mark.toString('latin1')}${instance}`,
    'Connection: close',
    '',
    '',
  ]
  return Buffer.from(lines.join('\r\n'), 'latin1')
}

/** A ClientHello for TLS 1.2 and 1.3 (RFC 8446 4.1.2, RFC 6066 3) whose session id is `session` (32 bytes). */
function clientHello(session: Buffer, host: string, random: Uint8Array): Buffer {
  const ciphers = [
    0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013, 0xc014, 0x009c, 0x009d, 0x002f,
    0x0035,
  ]
  const name = Buffer.from(host, 'latin1')
  const extensions = [
    ...(host === '' ? [] : [extension(0, list(Buffer.concat([Buffer.of(0), list(name)])))]),
    extension(10, list(words([0x001d, 0x0017, 0x0018]))),
    extension(11, Buffer.of(1, 0)),
    extension(13, list(words([0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601]))),
    extension(43, Buffer.of(4, 3, 4, 3, 3)),
    extension(51, list(Buffer.concat([words([0x001d]), list(random.subarray(32, 64))]))),
  ]
  const body = Buffer.concat([
    words([0x0303]),
    random.subarray(0, 32),
    Buffer.of(session.length),
    session,
    list(words(ciphers)),
    Buffer.of(1, 0),
    list(Buffer.concat(extensions)),
  ])
  const handshake = Buffer.concat([Buffer.of(1, 0), list(body)])
  return Buffer.concat([Buffer.of(0x16, 3, 1), list(handshake)])
}

function extension(type: number, content: Uint8Array): Buffer {
  return Buffer.concat([words([type]), list(content)])
}

/** Content with its length in two bytes in front. */
function list(content: Uint8Array): Buffer {
  return Buffer.concat([words([content.length]), content])
}

function words(values: readonly number[]): Buffer {
  return Buffer.from(values.flatMap((value) => [value >> 8, value & 0xff]))
}

/** How a probe ended: bytes that came, and what ended the wait. */
export interface Observation {
  readonly bytes: Buffer
  readonly end: 'bytes' | 'closed' | 'time' | 'no-connection'
}

/**
 * `answer`: the receiver understood the request. `rejected`: it answered that it did not. `cut`: it closed or reset without a byte.
 * `mute`: connected, and nothing came. `unreachable`: no connection.
 */
export type Outcome = 'answer' | 'rejected' | 'cut' | 'mute' | 'unreachable' | 'unclear'

/** Alerts that a server sends only after it has read a ClientHello (RFC 8446 6): handshake_failure, insufficient_security, internal_error, … */
const alertsAfterHello: ReadonlySet<number> = new Set([40, 49, 71, 80, 86, 109, 112, 116, 120])

/** Reads the answer to a probe. */
export function readOutcome(kind: ProbeKind, {bytes, end}: Observation): Outcome {
  if (end === 'no-connection') return 'unreachable'
  if (kind === 'tcp') return end === 'closed' && bytes.length === 0 ? 'cut' : 'answer'
  if (bytes.length === 0) return end === 'closed' ? 'cut' : 'mute'
  const status = /^HTTP\/1\.[01] ([0-9]{3})/.exec(bytes.toString('latin1', 0, 12))?.[1]
  if (kind === 'http') {
    if (status !== undefined) return status === '400' ? 'rejected' : 'answer'
    return 'unclear'
  }
  if (bytes[0] === 0x16) return 'answer'
  if (bytes[0] === 0x15 && bytes.length >= 7) return alertsAfterHello.has(bytes[6] ?? 0) ? 'answer' : 'rejected'
  return status === undefined ? 'unclear' : 'rejected'
}

/** True when enough has come to read the outcome. */
export function isDecided(kind: ProbeKind, bytes: Buffer): boolean {
  if (kind === 'tcp') return bytes.length > 0
  if (bytes[0] === 0x16) return true
  return bytes.length >= (kind === 'http' || bytes[0] === 0x48 ? 12 : 7)
}
