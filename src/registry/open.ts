import {type CredentialSource, credentialsFromFiles, firstOf, usualAuthFiles} from './auth/credential-files.ts'
import {RegistryClient, type ClientEvent} from './client.ts'
import {proxiesFromEnvironment} from './http/proxy-rules.ts'
import {type TrustOptions, TrustStore} from './http/trust.ts'
import type {RetryPolicy} from './http/retry.ts'

export interface OpenOptions extends TrustOptions {
  readonly plainHttp?: readonly string[]
  /** A login file of the caller's own, before the usual ones. */
  readonly authFile?: string | undefined
  /** Logins that come before every file (flags, pull secrets). */
  readonly credentials?: readonly CredentialSource[]
  readonly userAgent?: string
  readonly onEvent?: (event: ClientEvent) => void
  readonly env?: NodeJS.ProcessEnv
  readonly retries?: RetryPolicy
  /** Milliseconds without a byte after which a transfer is given up and resumed: a minute. */
  readonly stallTimeout?: number
}

/** A client with the logins, certificates and proxies of this machine. */
export function openRegistryClient(options: OpenOptions = {}): RegistryClient {
  const env = options.env ?? process.env
  const files = [...(options.authFile === undefined ? [] : [options.authFile]), ...usualAuthFiles(env)]
  const credentials = firstOf([
    ...(options.credentials ?? []),
    credentialsFromFiles({files, warn: (message) => options.onEvent?.({type: 'warning', message})}),
  ])
  return new RegistryClient({
    credentials,
    trust: new TrustStore(options),
    proxies: proxiesFromEnvironment(env),
    plainHttp: new Set((options.plainHttp ?? []).map((host) => host.toLowerCase())),
    ...(options.userAgent === undefined ? {} : {userAgent: options.userAgent}),
    ...(options.onEvent === undefined ? {} : {onEvent: options.onEvent}),
    ...(options.retries === undefined ? {} : {retries: options.retries}),
    ...(options.stallTimeout === undefined ? {} : {stallTimeout: options.stallTimeout}),
  })
}
