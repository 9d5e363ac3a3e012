import type {IncomingMessage} from 'node:http'
import type {Clock} from '../clock.ts'
import type {ClusterConfig, Log} from '../types.ts'
import {createAgent, drain, dropFreeSockets} from './agents.ts'
import type {AgentSettings, ClusterAgent} from './agents.ts'
import {exchange} from './exchange.ts'
import type {WireRequest} from './exchange.ts'
import {proxyFromEnvironment} from './no-proxy.ts'
import {TlsFiles} from './tls-material.ts'
import type {KeyPair, TlsMaterial} from './tls-material.ts'

export interface TransportSettings {
  readonly config: ClusterConfig
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly log: Log | undefined
}

/** The connections to one API server: one pool, rebuilt when the certificates change. */
export class Transport {
  readonly server: URL
  readonly #settings: TransportSettings
  readonly #proxy: URL | undefined
  readonly #files: TlsFiles
  #material: TlsMaterial | undefined
  #agent: ClusterAgent | undefined
  #tunnelAgent: ClusterAgent | undefined

  constructor(settings: TransportSettings) {
    const {config, env, clock, log} = settings
    this.#settings = settings
    this.server = new URL(config.server)
    // proxy-url in the kubeconfig wins and knows no exceptions; the environment has NO_PROXY.
    const proxy = config.proxyUrl ?? proxyFromEnvironment(this.server, env)
    this.#proxy = proxy === undefined || !URL.canParse(proxy) ? undefined : new URL(proxy)
    this.#files = new TlsFiles(config, clock, log)
  }

  /** Path that all request paths are put behind (a server URL may have one). */
  get basePath(): string {
    return this.server.pathname.replace(/\/+$/, '')
  }

  /** Sends one request; `wire.path` is below the server URL. Rejects with ExchangeError. */
  async send(wire: WireRequest, pair: KeyPair | undefined): Promise<IncomingMessage> {
    const agent = await this.agent(pair, false)
    const proxy = this.#proxy
    const forward = this.server.protocol === 'http:' && proxy?.protocol === 'http:' ? proxy : undefined
    return await exchange(this.server, agent, forward, {...wire, path: this.basePath + wire.path})
  }

  /** The pool for this identity; with `tunnel`, one that a WebSocket can be opened through. */
  async agent(pair: KeyPair | undefined, tunnel: boolean): Promise<ClusterAgent> {
    const {config} = this.#settings
    const material = this.server.protocol === 'https:' ? await this.#files.material(pair) : undefined
    if (material !== this.#material) {
      if (this.#agent !== undefined) drain(this.#agent)
      if (this.#tunnelAgent !== undefined) drain(this.#tunnelAgent)
      this.#agent = undefined
      this.#tunnelAgent = undefined
      this.#material = material
    }
    const settings: AgentSettings = {
      server: this.server,
      proxy: this.#proxy,
      tls: material,
      tlsServerName: config.tlsServerName,
      insecureSkipTlsVerify: config.insecureSkipTlsVerify,
    }
    if (!tunnel || this.server.protocol === 'https:') return (this.#agent ??= createAgent(settings, false))
    return (this.#tunnelAgent ??= createAgent(settings, true))
  }

  /** To be called when one connection was found dead. */
  dropFreeSockets(): void {
    if (this.#agent !== undefined) dropFreeSockets(this.#agent)
    if (this.#tunnelAgent !== undefined) dropFreeSockets(this.#tunnelAgent)
  }

  /** Ends every connection, also those with a request under way. */
  destroy(): void {
    this.#agent?.destroy()
    this.#tunnelAgent?.destroy()
  }
}
