import {readFile} from 'node:fs/promises'
import {homedir} from 'node:os'
import {join} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import {cleanText} from '../text.ts'
import {askCredentialProgram} from './credential-program.ts'

/** A login for a registry. `from` says where it was found (file and key), never what it is. */
export interface Credential {
  readonly username: string
  readonly password: string
  /** Set instead of a password where the file holds an identity token (OAuth2 refresh token). */
  readonly identityToken?: string
  readonly from: string
}

/** Where logins come from. */
export interface CredentialSource {
  /** Logins for a repository of a host, best first. */
  candidates(host: string, repository: string): Promise<Credential[]>
}

interface AuthEntry {
  readonly auth?: unknown
  readonly username?: unknown
  readonly password?: unknown
  readonly identitytoken?: unknown
}

/** The content of docker's config.json, podman's auth.json, Helm's registry/config.json or a pull secret. */
export interface AuthFile {
  readonly auths?: Readonly<Record<string, AuthEntry>>
  readonly credHelpers?: Readonly<Record<string, unknown>>
  readonly credsStore?: unknown
}

/** Places of login files, best first: REGISTRY_AUTH_FILE, docker, podman, Helm. */
export function usualAuthFiles(env: NodeJS.ProcessEnv, home: string = env['HOME'] ?? homedir()): string[] {
  const config = env['XDG_CONFIG_HOME'] ?? join(home, '.config')
  const docker = env['DOCKER_CONFIG']
  return [
    env['REGISTRY_AUTH_FILE'],
    docker === undefined || docker === '' ? join(home, '.docker/config.json') : join(docker, 'config.json'),
    env['XDG_RUNTIME_DIR'] === undefined ? undefined : join(env['XDG_RUNTIME_DIR'], 'containers/auth.json'),
    join(config, 'containers/auth.json'),
    env['HELM_REGISTRY_CONFIG'] ?? join(config, 'helm/registry/config.json'),
  ].filter((path): path is string => path !== undefined && path !== '')
}

/** `https://host/v1/` and `host/path/` both become `host/path`; Docker Hub has four spellings. */
export function normalizeKey(key: string): string {
  const plain = key
    .replace(/^https?:\/\//i, '')
    .replace(/\/v[12]\/?$/, '')
    .replace(/\/+$/, '')
  const [host = '', ...path] = plain.split('/')
  const lower = host.toLowerCase()
  const hub = lower === 'index.docker.io' || lower === 'registry-1.docker.io' || lower === 'docker.io'
  return [hub ? 'docker.io' : lower, ...path].join('/')
}

/** Does a key (host, optionally a path; labels may be `*` as in a pull secret) cover this repository? Gives the match's length. */
export function keyCovers(key: string, host: string, repository: string): number {
  const normalized = normalizeKey(key)
  const slash = normalized.indexOf('/')
  const keyHost = slash < 0 ? normalized : normalized.slice(0, slash)
  const path = slash < 0 ? '' : normalized.slice(slash + 1)
  if (!hostCovers(keyHost, host)) return -1
  if (path !== '' && repository !== path && !repository.startsWith(`${path}/`)) return -1
  // An exact host beats a pattern, a longer path beats a shorter one.
  return (path.length + 1) * 2 + (keyHost.includes('*') ? 0 : 1)
}

function hostCovers(pattern: string, host: string): boolean {
  if (!pattern.includes('*')) return pattern === host
  const [patternName = '', patternPort] = splitPort(pattern)
  const [name = '', port] = splitPort(host)
  if (patternPort !== port) return false
  const wanted = patternName.split('.')
  const labels = name.split('.')
  return wanted.length === labels.length && wanted.every((label, at) => labelCovers(label, labels[at] ?? ''))
}

function labelCovers(pattern: string, label: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[^.]*')}$`).test(label)
}

function splitPort(host: string): [string, string | undefined] {
  const match = /^(.*?)(?::(\d+))?$/.exec(host)
  return [match?.[1] ?? host, match?.[2]]
}

/** Reads user and password of one entry; undefined when the entry is empty ("ask the store"). */
function readEntry(entry: AuthEntry, from: string): Credential | undefined {
  const text = (value: unknown): string => (typeof value === 'string' ? value : '')
  const identityToken = text(entry.identitytoken)
  let username = text(entry.username)
  let password = text(entry.password)
  if (text(entry.auth) !== '') {
    const decoded = Buffer.from(text(entry.auth), 'base64').toString('utf8').replace(/\0+$/, '')
    const colon = decoded.indexOf(':')
    if (colon < 0) throw new SrcipError('Usage', `${from}: "auth" is not base64 of user:password`)
    username = decoded.slice(0, colon)
    password = decoded.slice(colon + 1)
  }
  if (identityToken !== '') return {username, password, identityToken, from}
  return username === '' && password === '' ? undefined : {username, password, from}
}

/** All entries of a file that cover a repository, longest path first. */
export function matchingEntries(file: AuthFile, host: string, repository: string, from: string): Credential[] {
  return Object.entries(file.auths ?? {})
    .map(([key, entry]) => ({key, entry, weight: keyCovers(key, host, repository)}))
    .filter(({weight, entry}) => weight >= 0 && typeof entry === 'object' && entry !== null)
    .sort((one, other) => other.weight - one.weight)
    .map(({key, entry}) => readEntry(entry, `${from}, key ${cleanText(key)}`))
    .filter((entry): entry is Credential => entry !== undefined)
}

/** Parses a login file. @throws SrcipError Usage when it is not JSON */
export function parseAuthFile(text: string, from: string): AuthFile {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    throw new SrcipError('Usage', `${from} is not JSON`, {object: from})
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    throw new SrcipError('Usage', `${from} is not a JSON object`, {object: from})
  return document
}

export interface AuthFilesOptions {
  /** Files to read, best first. A file that is not there is passed over. */
  readonly files: readonly string[]
  /** Told about programs that are missing or fail: public images can still be read without a login. */
  readonly warn: (message: string) => void
  readonly ask?: typeof askCredentialProgram
}

/** Logins from files and the programs that they name; the first file that knows the host decides. */
export function credentialsFromFiles(options: AuthFilesOptions): CredentialSource {
  const loaded = new Map<string, Promise<AuthFile | undefined>>()
  const answers = new Map<string, Promise<Credential | undefined>>()
  const load = (path: string): Promise<AuthFile | undefined> => {
    const known = loaded.get(path)
    if (known !== undefined) return known
    const reading = readFile(path, 'utf8').then(
      (text) => (text.trim() === '' ? undefined : parseAuthFile(text, path)),
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined
        throw new SrcipError('Usage', `${path} cannot be read: ${error.code}`, {object: path, cause: error})
      },
    )
    loaded.set(path, reading)
    return reading
  }
  const askProgram = (name: unknown, host: string, path: string): Promise<Credential | undefined> => {
    const key = `${String(name)} ${host}`
    const known = answers.get(key)
    if (known !== undefined) return known
    const asking = (options.ask ?? askCredentialProgram)(
      String(name),
      host === 'docker.io' ? 'https://index.docker.io/v1/' : host,
    ).then(
      (found) => found,
      (error: unknown) => {
        options.warn(`${path}: ${error instanceof Error ? error.message : String(error)}; going on without this login`)
        return undefined
      },
    )
    answers.set(key, asking)
    return asking
  }
  return {
    async candidates(host, repository) {
      for (const path of options.files) {
        const file = await load(path)
        if (file === undefined) continue
        const program = Object.entries(file.credHelpers ?? {}).find(([key]) => normalizeKey(key) === host)
        if (program !== undefined) {
          const found = await askProgram(program[1], host, path)
          if (found !== undefined) return [found]
        }
        const entries = matchingEntries(file, host, repository, path)
        if (entries.length > 0) return entries
        if (typeof file.credsStore === 'string' && file.credsStore !== '') {
          const found = await askProgram(file.credsStore, host, path)
          if (found !== undefined) return [found]
        }
      }
      return []
    },
  }
}

/** Logins from pull secrets (`.dockerconfigjson` or `.dockercfg` text), tried in turn as the kubelet does. */
export function credentialsFromSecrets(
  secrets: readonly {readonly name: string; readonly file: AuthFile}[],
): CredentialSource {
  return {
    async candidates(host, repository) {
      return secrets.flatMap(({name, file}) => matchingEntries(file, host, repository, `secret ${name}`))
    },
  }
}

/** Asks several sources in turn; the first that has a login decides. */
export function firstOf(sources: readonly CredentialSource[]): CredentialSource {
  return {
    async candidates(host, repository) {
      for (const source of sources) {
        const found = await source.candidates(host, repository)
        if (found.length > 0) return found
      }
      return []
    },
  }
}
