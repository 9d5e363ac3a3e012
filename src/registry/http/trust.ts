import {readdirSync, readFileSync} from 'node:fs'
import {homedir} from 'node:os'
import {join} from 'node:path'
import type {SecureContext} from 'node:tls'
import {SrcipError} from '../../model/errors.ts'

export interface TrustOptions {
  /** PEM files with additional authorities, for every host. */
  readonly caFiles?: readonly string[]
  /** Client certificate and key (PEM files), sent to the host they are given for, nowhere else. */
  readonly clientCertificates?: Readonly<Record<string, {readonly certFile: string; readonly keyFile: string}>>
  /** Hosts whose certificate is not checked. */
  readonly insecureHosts?: ReadonlySet<string>
  /** Folders with one subfolder a host (docker's and podman's certs.d). Default: the usual four. */
  readonly certificateFolders?: readonly string[]
}

function readPem(path: string, what: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new SrcipError('Usage', `${what} ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`, {
      object: path,
      cause: error,
    })
  }
}

/** Docker's and podman's folders of certificates by host. */
export function usualCertificateFolders(home: string = homedir()): string[] {
  return [
    '/etc/docker/certs.d',
    join(home, '.docker/certs.d'),
    '/etc/containers/certs.d',
    join(home, '.config/containers/certs.d'),
  ]
}

interface HostFiles {
  readonly ca: string[]
  readonly pairs: {cert: string; key: string}[]
}

/** `*.crt` are authorities, `NAME.cert` with `NAME.key` a client pair; a `.cert` without its key is an error (docker's rule). */
function hostFiles(folders: readonly string[], host: string): HostFiles {
  const found: HostFiles = {ca: [], pairs: []}
  for (const folder of folders) {
    const place = join(folder, host)
    let names: string[]
    try {
      names = readdirSync(place).sort()
    } catch {
      continue
    }
    for (const name of names) {
      if (name.endsWith('.crt')) found.ca.push(readPem(join(place, name), 'certificate'))
      if (!name.endsWith('.cert')) continue
      const key = name.replace(/\.cert$/, '.key')
      if (!names.includes(key)) {
        throw new SrcipError('Usage', `${join(place, name)} has no key ${key} beside it`, {object: join(place, name)})
      }
      found.pairs.push({cert: readPem(join(place, name), 'certificate'), key: readPem(join(place, key), 'key')})
    }
  }
  return found
}

/** The authorities that a connection trusts: Node's, the system's, and those of the options. */
export class TrustStore {
  readonly #options: TrustOptions
  readonly #contexts = new Map<string, SecureContext>()
  #roots: string[] | undefined

  constructor(options: TrustOptions = {}) {
    this.#options = options
  }

  /** Is the certificate of this host (with port) taken unchecked? Only for hosts named one by one. */
  isInsecure(host: string): boolean {
    return this.#options.insecureHosts?.has(host) === true
  }

  /**
   * The TLS context for one host, made once: parsing the system's authorities takes about 50 ms.
   * @throws SrcipError Usage when a certificate file cannot be read or used
   */
  contextFor(host: string): SecureContext {
    const known = this.#contexts.get(host)
    if (known !== undefined) return known
    const files = hostFiles(this.#options.certificateFolders ?? usualCertificateFolders(), host)
    const own = this.#options.clientCertificates?.[host]
    const pairs =
      own === undefined ? files.pairs : [{cert: readPem(own.certFile, 'certificate'), key: readPem(own.keyFile, 'key')}]
    try {
      const context = process.getBuiltinModule('node:tls').createSecureContext({
        ca: [...this.#rootList(), ...files.ca],
        ...(pairs.length === 0 ? {} : {cert: pairs.map((pair) => pair.cert), key: pairs.map((pair) => pair.key)}),
      })
      this.#contexts.set(host, context)
      return context
    } catch (error) {
      throw new SrcipError('Usage', `certificates for ${host} cannot be used: ${(error as Error).message}`, {
        cause: error,
      })
    }
  }

  #rootList(): string[] {
    const tls = process.getBuiltinModule('node:tls')
    this.#roots ??= [
      ...new Set([
        ...tls.rootCertificates,
        ...tls.getCACertificates('extra'),
        ...tls.getCACertificates('system'),
        ...fromVariable(process.env['SSL_CERT_FILE']),
        ...(this.#options.caFiles ?? []).map((path) => readPem(path, 'CA file')),
      ]),
    ]
    return this.#roots
  }
}

function fromVariable(path: string | undefined): string[] {
  if (path === undefined || path === '') return []
  try {
    return [readFileSync(path, 'utf8')]
  } catch {
    return []
  }
}
