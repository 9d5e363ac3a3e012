import {readFile, stat} from 'node:fs/promises'
import {createSecureContext, getCACertificates} from 'node:tls'
import type {SecureContext} from 'node:tls'
import {SrcipError} from '../../model/errors.ts'
import type {Clock} from '../clock.ts'
import type {ClusterConfig, Log, Material} from '../types.ts'

/** How often files are looked at for a change (client-go reloads rotated certificates, too). */
const recheckMs = 60_000

/** A client certificate with its key, both PEM. */
export interface KeyPair {
  readonly cert: Buffer | string
  readonly key: Buffer | string
}

/** What a TLS connection is opened with. Two different objects mean that something has changed. */
export interface TlsMaterial {
  readonly context: SecureContext
}

/** Reads CA, client certificate and key, and reads them again when a file changes. */
export class TlsFiles {
  readonly #config: ClusterConfig
  readonly #clock: Clock
  readonly #log: Log | undefined
  #current: TlsMaterial | undefined
  #pair: KeyPair | undefined
  #stamp = ''
  #checkedAt = 0
  /** The look at the files that is under way: several first connections at once share it. */
  #looking: {readonly pair: KeyPair | undefined; readonly material: Promise<TlsMaterial>} | undefined

  constructor(config: ClusterConfig, clock: Clock, log: Log | undefined) {
    this.#config = config
    this.#clock = clock
    this.#log = log
  }

  /**
   * The material to use now.
   * @param pair a client certificate from an exec plugin, in place of the configured one
   * @throws SrcipError Usage (2) when a file cannot be read or is no PEM, and nothing usable was read earlier
   */
  async material(pair: KeyPair | undefined): Promise<TlsMaterial> {
    const due = this.#clock.now() - this.#checkedAt >= recheckMs
    if (this.#current !== undefined && pair === this.#pair && !due) return this.#current
    if (this.#looking !== undefined && this.#looking.pair === pair) return await this.#looking.material
    const looking = {pair, material: this.#look(pair)}
    this.#looking = looking
    try {
      return await looking.material
    } finally {
      if (this.#looking === looking) this.#looking = undefined
    }
  }

  async #look(pair: KeyPair | undefined): Promise<TlsMaterial> {
    this.#checkedAt = this.#clock.now()
    try {
      const stamp = await this.#stampNow()
      if (this.#current !== undefined && pair === this.#pair && stamp === this.#stamp) return this.#current
      const current = await this.#read(pair)
      if (this.#current !== undefined && pair === this.#pair)
        this.#log?.info('certificate files have changed, new connections use them')
      this.#current = current
      this.#pair = pair
      this.#stamp = stamp
      return current
    } catch (error) {
      if (this.#current === undefined || pair !== this.#pair) throw error
      // A file that is being replaced: keep what works, look again next time.
      this.#log?.warn('certificate files cannot be read, keeping the ones read before', {
        error: (error as Error).message,
      })
      return this.#current
    }
  }

  async #stampNow(): Promise<string> {
    const {certificateAuthority, user} = this.#config
    const files = [certificateAuthority, user.clientCertificate, user.clientKey].flatMap((item) =>
      item !== undefined && 'file' in item ? [item.file] : [],
    )
    const stamps = await Promise.all(
      files.map(async (file) => {
        const {mtimeMs, size, ino} = await stat(file).catch((error: unknown) => unreadable(file, error))
        return `${mtimeMs}/${size}/${ino}`
      }),
    )
    return stamps.join(' ')
  }

  async #read(pair: KeyPair | undefined): Promise<TlsMaterial> {
    const {certificateAuthority, insecureSkipTlsVerify, user} = this.#config
    const ca = certificateAuthority === undefined ? undefined : await content(certificateAuthority)
    const cert =
      pair?.cert ?? (user.clientCertificate === undefined ? undefined : await content(user.clientCertificate))
    const key = pair?.key ?? (user.clientKey === undefined ? undefined : await content(user.clientKey))
    try {
      return {
        context: createSecureContext({
          ...(ca === undefined ? (insecureSkipTlsVerify ? {} : {ca: systemRoots()}) : {ca}),
          ...(cert === undefined ? {} : {cert}),
          ...(key === undefined ? {} : {key}),
        }),
      }
    } catch (error) {
      throw new SrcipError(
        'Usage',
        `kubeconfig ${this.#config.source}: certificate or key is not usable (${errorCode(error)})`,
        {
          object: this.#config.source,
          hints: [
            'check certificate-authority, client-certificate and client-key: each must be PEM, and the key must fit',
          ],
          cause: error,
        },
      )
    }
  }
}

/** Go trusts the roots of the operating system; Node's own list alone misses a company's CA. */
function systemRoots(): string[] {
  return [...getCACertificates('default'), ...getCACertificates('system')]
}

async function content(material: Material): Promise<Buffer> {
  if ('data' in material) return material.data
  return await readFile(material.file).catch((error: unknown) => unreadable(material.file, error))
}

function unreadable(file: string, error: unknown): never {
  throw new SrcipError('Usage', `${file} cannot be read (${errorCode(error)})`, {object: file, cause: error})
}

function errorCode(error: unknown): string {
  const {code} = error as NodeJS.ErrnoException
  return code ?? 'no PEM'
}
