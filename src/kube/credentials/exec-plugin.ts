import {execInfo, parseExecCredential} from './exec-protocol.ts'
import type {ExecCluster} from './exec-protocol.ts'
import {runPlugin} from './exec-process.ts'
import type {PluginTerminal} from './exec-process.ts'
import type {Clock} from '../clock.ts'
import {KubeFailure} from '../failures/failure.ts'
import type {ExecConfig} from '../types.ts'
import type {Credential, Credentials} from './types.ts'

/** Renewed this long before expiry, or a tenth of the lifetime before it where that is less. */
const renewBeforeMs = 60_000

/** A plugin that hands out credentials the server refuses, or that are already expired, is not asked more often. */
const minIntervalMs = 5000

export interface ExecPluginSettings {
  readonly exec: ExecConfig
  /** Read when the plugin asks for it (`provideClusterInfo`). */
  readonly cluster: () => Promise<ExecCluster>
  readonly terminal: PluginTerminal
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
}

interface Flight {
  readonly result: Promise<Credential>
  readonly abort: AbortController
  waiting: number
}

/** Credentials from a client-go credential plugin (KEP-541, client.authentication.k8s.io). One run serves all who wait. */
export class ExecPlugin implements Credentials {
  readonly #settings: ExecPluginSettings
  #credential: Credential | undefined
  #renewAt = Number.POSITIVE_INFINITY
  #ranAt = Number.NEGATIVE_INFINITY
  #flight: Flight | undefined

  constructor(settings: ExecPluginSettings) {
    this.#settings = settings
  }

  async current(signal: AbortSignal | undefined): Promise<Credential> {
    const now = this.#settings.clock.now()
    const fresh = now < this.#renewAt || now - this.#ranAt < minIntervalMs
    if (this.#credential !== undefined && fresh) return this.#credential
    return await this.#join(signal)
  }

  async renew(refused: Credential, signal: AbortSignal | undefined): Promise<boolean> {
    if (this.#credential !== undefined && this.#credential !== refused) return true
    if (this.#flight === undefined && this.#settings.clock.now() - this.#ranAt < minIntervalMs) return false
    await this.#join(signal)
    return true
  }

  /** Waits for the run under way, or starts one; the plugin is ended when nobody waits for it any more. */
  async #join(signal: AbortSignal | undefined): Promise<Credential> {
    signal?.throwIfAborted()
    const flight = (this.#flight ??= this.#start())
    flight.waiting += 1
    let leave: (() => void) | undefined
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(signal?.reason as Error)
      signal?.addEventListener('abort', leave, {once: true})
    })
    try {
      return await Promise.race([flight.result, left])
    } finally {
      if (leave !== undefined) signal?.removeEventListener('abort', leave)
      flight.waiting -= 1
      if (flight.waiting === 0) flight.abort.abort()
    }
  }

  #start(): Flight {
    const abort = new AbortController()
    const result = this.#run(abort.signal).finally(() => {
      this.#flight = undefined
    })
    // Whoever waits sees the failure; if all have left, nobody has to.
    result.catch(() => undefined)
    return {result, abort, waiting: 0}
  }

  async #run(signal: AbortSignal): Promise<Credential> {
    const {exec, clock, env, terminal} = this.#settings
    const interactive = isInteractive(exec, terminal)
    const info = execInfo(exec, interactive, exec.provideClusterInfo ? await this.#settings.cluster() : undefined)
    const output = await runPlugin({exec, info, interactive, terminal, env, clock, signal})
    const {credential, expiresAt} = parseExecCredential(output, exec)
    const now = clock.now()
    this.#ranAt = now
    this.#credential = credential
    const lifetime = expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - clock.wall()
    this.#renewAt = now + lifetime - Math.min(renewBeforeMs, Math.max(lifetime, 0) / 10)
    return credential
  }
}

function isInteractive(exec: ExecConfig, terminal: PluginTerminal): boolean {
  if (exec.interactiveMode === 'Always' && !terminal.stdinIsTty) {
    throw new KubeFailure(`exec plugin ${exec.command} wants to talk to a person, and standard input is no terminal`, {
      kind: 'transport',
      code: 'Denied',
      reason: 'ExecPlugin',
      hints: ['run it from a terminal, or use a kubeconfig with a token or certificate'],
    })
  }
  return exec.interactiveMode !== 'Never' && terminal.stdinIsTty
}
