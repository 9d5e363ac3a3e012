import {readFile} from 'node:fs/promises'
import type {Clock} from '../clock.ts'
import {KubeFailure} from '../failures/failure.ts'
import type {AuthProviderConfig, ClusterConfig, Log} from '../types.ts'
import type {PluginTerminal} from './exec-process.ts'
import type {ExecCluster} from './exec-protocol.ts'
import {TokenFile} from './token-file.ts'
import type {Credential, Credentials} from './types.ts'

export interface CredentialSettings {
  readonly config: ClusterConfig
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly log: Log | undefined
  readonly terminal: PluginTerminal
}

/**
 * Chooses how to authenticate, in client-go's order: token file, token, password; an exec plugin or auth provider only
 * where none of these and no client certificate is configured. Nothing is sent to a plain http server, as with kubectl.
 */
export async function createCredentials(settings: CredentialSettings): Promise<Credentials> {
  const {config, clock, log} = settings
  const {user} = config
  if (config.server.startsWith('http://')) return fixed({})
  if (user.tokenFile !== undefined) return new TokenFile(user.tokenFile, clock, log)
  if (user.token !== undefined) return fixed({authorization: `Bearer ${headerText(user.token, config)}`})
  if (user.username !== undefined || user.password !== undefined) {
    const pair = Buffer.from(`${user.username ?? ''}:${user.password ?? ''}`).toString('base64')
    return fixed({authorization: `Basic ${pair}`})
  }
  if (user.clientCertificate !== undefined) return fixed({})
  if (user.exec !== undefined) {
    const {ExecPlugin} = await import('./exec-plugin.ts')
    const {env, terminal} = settings
    return new ExecPlugin({exec: user.exec, cluster: () => execCluster(config), terminal, env, clock})
  }
  return user.authProvider === undefined ? fixed({}) : new AuthProvider(user.authProvider, config.server)
}

function fixed(credential: Credential): Credentials {
  return {current: () => Promise.resolve(credential), renew: () => Promise.resolve(false)}
}

function headerText(token: string, config: ClusterConfig): string {
  const trimmed = token.trim()
  if (!/[^\x20-\x7e]/.test(trimmed)) return trimmed
  throw new KubeFailure(`the token of user "${config.userName ?? ''}" holds characters that no header can hold`, {
    kind: 'transport',
    code: 'Usage',
    reason: 'Token',
    object: config.source,
  })
}

/** What a plugin with `provideClusterInfo` is told (client-go rest/exec.go). */
async function execCluster(config: ClusterConfig): Promise<ExecCluster> {
  const ca = config.certificateAuthority
  const data = ca === undefined ? undefined : 'data' in ca ? ca.data : await readFile(ca.file)
  return {
    server: config.server,
    ...(config.tlsServerName === undefined ? {} : {'tls-server-name': config.tlsServerName}),
    ...(config.insecureSkipTlsVerify ? {'insecure-skip-tls-verify': true} : {}),
    ...(data === undefined ? {} : {'certificate-authority-data': data.toString('base64')}),
    ...(config.proxyUrl === undefined ? {} : {'proxy-url': config.proxyUrl}),
    ...(config.disableCompression ? {'disable-compression': true} : {}),
    config: config.user.exec?.clusterExtension ?? null,
  }
}

class AuthProvider implements Credentials {
  readonly #provider: AuthProviderConfig
  readonly #server: string

  constructor(provider: AuthProviderConfig, server: string) {
    this.#provider = provider
    this.#server = server
  }

  async current(): Promise<Credential> {
    const {authorizationFromProvider} = await import('./auth-provider.ts')
    try {
      const authorization = await authorizationFromProvider(this.#provider, this.#server)
      return authorization === undefined ? {} : {authorization}
    } catch (error) {
      throw new KubeFailure(`auth-provider ${this.#provider.name} gave no credential`, {
        kind: 'transport',
        code: 'Denied',
        reason: 'AuthProvider',
        hints: ['auth-provider is no longer part of Kubernetes; move the user entry to an exec plugin'],
        cause: error,
      })
    }
  }

  renew(): Promise<boolean> {
    return Promise.resolve(false)
  }
}
