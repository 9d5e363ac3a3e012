/** Versions of the PROXY protocol that the sender speaks. */
export type ProxyVersion = 'v1' | 'v2'

/** One end of a TCP connection: plain address text (no zone, mapped IPv4 taken out) and port 0..65535. */
export interface Endpoint {
  readonly address: string
  readonly port: number
}

/** A type-length-value field of a v2 header (specification 2.2). */
export interface Tlv {
  readonly type: number
  readonly value: Uint8Array
}

/** What a header says. `source` and `destination` are there for tcp4 and tcp6 only; otherwise the addresses of the socket stand. */
export interface ProxyHeader {
  readonly version: 1 | 2
  /** `local`: the sender speaks for itself (v2 LOCAL). v1 has no such word; its UNKNOWN is `proxy` with family `unspec`. */
  readonly command: 'proxy' | 'local'
  readonly family: 'tcp4' | 'tcp6' | 'unix' | 'unspec'
  readonly source?: Endpoint
  readonly destination?: Endpoint
  readonly tlvs: readonly Tlv[]
}

/** Why a header is refused; the text is what the log line says. A closed list. */
export const refusals = {
  'no-header': 'the connection does not begin with a PROXY header',
  'tls-hello': 'the connection begins with a TLS ClientHello instead of a PROXY header',
  'cut-short': 'the connection ended inside the PROXY header',
  'too-slow': 'the PROXY header did not arrive in time',
  'v1-line-end': 'the v1 line does not end in CR LF',
  'v1-too-long': 'the v1 line is longer than 107 bytes',
  'v1-family': 'the v1 family is not TCP4, TCP6 or UNKNOWN',
  'v1-fields': 'the v1 line does not have two addresses and two ports with single spaces between them',
  'v1-address': 'an address of the v1 line is not one of its family',
  'v1-port': 'a port of the v1 line is not a number from 0 to 65535 without leading zeros',
  'v2-version': 'the v2 signature is followed by another version than 2',
  'v2-command': 'the v2 command is neither LOCAL nor PROXY',
  'v2-family': 'the v2 family is not TCP over IPv4 or IPv6, a UNIX stream or UNSPEC',
  'v2-length': 'the v2 length is too small for the addresses of its family',
  'v2-too-long': 'the v2 header is longer than 4096 bytes',
  'v2-tlv': 'a v2 TLV reaches over the end of the header',
  'v2-checksum': 'the v2 CRC32c does not match',
} as const

export type Refusal = keyof typeof refusals
