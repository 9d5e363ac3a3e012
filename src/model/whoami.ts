import type {apiVersion} from './documents.ts'

/** An address and a port as text and number; IPv4 mapped into IPv6 is written as IPv4. */
export interface WhoamiEndpoint {
  readonly address: string
  readonly port: number
}

/** What `whoami` says about the connection and the request that it was asked on. Never a cookie, a credential, a query or a body. */
export interface WhoamiAnswer {
  readonly apiVersion: typeof apiVersion
  readonly kind: 'Whoami'
  /** The address that an application with this trust would take for the client's. */
  readonly client: {readonly address: string; readonly from: 'peer' | 'proxy-header' | 'forwarded-header'}
  /** Who opened the TCP connection. */
  readonly peer: WhoamiEndpoint & {readonly trusted: boolean}
  readonly local: WhoamiEndpoint
  /** The PROXY header in front of the connection, whoever sent it. */
  readonly proxyHeader: {
    readonly version: 1 | 2
    readonly command: 'proxy' | 'local'
    readonly family: string
    readonly source?: WhoamiEndpoint
    readonly destination?: WhoamiEndpoint
    readonly believed: boolean
  } | null
  readonly tls: {readonly protocol: string; readonly serverName: string} | null
  readonly http: {
    readonly method: string
    readonly host: string
    readonly path: string
    /** X-Forwarded-*, X-Real-IP, Forwarded and the like, as they came. */
    readonly forwarded: Readonly<Record<string, string>>
    readonly believed: boolean
  } | null
  /** Why `client` is what it is, one sentence each. */
  readonly decision: readonly string[]
}
