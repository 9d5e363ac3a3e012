import {readFile} from 'node:fs/promises'
import type {Clock} from '../clock.ts'
import {KubeFailure} from '../failures/failure.ts'
import type {Log} from '../types.ts'
import type {Credential, Credentials} from './types.ts'

/** kubelet renews a token well before it expires; ten seconds bound how long a replaced one is still sent. */
const rereadMs = 10_000

/** A bearer token in a file that somebody else renews (a Pod's service account, `tokenFile`). */
export class TokenFile implements Credentials {
  readonly #file: string
  readonly #clock: Clock
  readonly #log: Log | undefined
  #credential: Credential | undefined
  #readAt = 0

  constructor(file: string, clock: Clock, log: Log | undefined) {
    this.#file = file
    this.#clock = clock
    this.#log = log
  }

  async current(): Promise<Credential> {
    // Monotonic: a clock set back must not keep an old token alive.
    if (this.#credential !== undefined && this.#clock.now() - this.#readAt < rereadMs) return this.#credential
    return await this.#read()
  }

  async renew(refused: Credential): Promise<boolean> {
    return (await this.#read()).authorization !== refused.authorization
  }

  async #read(): Promise<Credential> {
    this.#readAt = this.#clock.now()
    let token: string
    try {
      token = (await readFile(this.#file, 'utf8')).trim()
      if (token === '') throw Object.assign(new Error('empty'), {code: 'EMPTY'})
    } catch (error) {
      const reason = (error as NodeJS.ErrnoException).code ?? 'EIO'
      if (this.#credential !== undefined) {
        this.#log?.warn('token file cannot be read, keeping the last token', {file: this.#file, reason})
        return this.#credential
      }
      throw new KubeFailure(`token file ${this.#file} cannot be read (${reason})`, {
        kind: 'transport',
        code: 'Denied',
        reason: 'TokenFile',
        object: this.#file,
        cause: error,
      })
    }
    const authorization = `Bearer ${token}`
    if (this.#credential?.authorization !== authorization) this.#credential = {authorization}
    return this.#credential ?? {authorization}
  }
}
