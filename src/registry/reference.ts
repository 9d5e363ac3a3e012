import {isIPv6} from 'node:net'
import {SrcipError} from '../model/errors.ts'
import {digestProblem} from './digest.ts'
import {cleanText} from './text.ts'

/** A reference to an image, chart or other artifact in a registry. `digest` decides where both are given. */
export interface Reference {
  /** Host as a person writes it, with port when one was given; `docker.io` for Docker Hub. */
  readonly host: string
  /** Repository path below the host, without leading slash. */
  readonly repository: string
  readonly tag?: string
  readonly digest?: string
  /** Written with `oci://`, so a Helm chart. */
  readonly chart: boolean
  /** What the reader should know, e.g. that a host was added. */
  readonly notes: readonly string[]
}

const component = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/
const tagGrammar = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/
const hostName = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
/** Longest host + "/" + repository that clients in the field accept. */
const nameLength = 255

function refuse(text: string, reason: string, hints: readonly string[] = []): never {
  throw new SrcipError('Usage', `reference "${cleanText(text)}" ${reason}`, {hints})
}

function looksLikeHost(first: string): boolean {
  return first.includes('.') || first.includes(':') || first === 'localhost' || first.startsWith('[')
}

/** Why a text is no `host[:port]`, or undefined. IPv6 addresses stand in brackets. */
export function hostProblem(host: string): string | undefined {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(host)
  if (match === null) return `has no valid host in "${cleanText(host)}"`
  const [, name = '', port] = match
  if (port !== undefined && (Number(port) === 0 || Number(port) > 65535))
    return `has port ${port}, which does not exist`
  if (name.startsWith('[')) return isIPv6(name.slice(1, -1)) ? undefined : `has no valid IPv6 address in ${name}`
  return hostName.test(name.toLowerCase()) ? undefined : `has no valid host name in "${cleanText(name)}"`
}

/** Why a text is no repository path, or undefined (distribution-spec, "Pulling manifests"). */
export function repositoryProblem(repository: string): string | undefined {
  if (repository === '') return 'has no repository'
  if (/[A-Z]/.test(repository))
    return `has upper-case letters in "${cleanText(repository)}": repositories are lower case`
  const wrong = repository.split('/').find((part) => !component.test(part))
  return wrong === undefined ? undefined : `has the path component "${cleanText(wrong)}", which is not allowed`
}

/** Is this a tag of the distribution spec? */
export function isTag(text: string): boolean {
  return tagGrammar.test(text)
}

/** A Helm version as a tag: `+` of build metadata is written `_` (helm's rule for OCI registries). */
export function versionToTag(version: string): string {
  return version.replaceAll('+', '_')
}

function splitHost(text: string, rest: string): {host: string; path: string; notes: string[]} {
  const slash = rest.indexOf('/')
  const first = slash < 0 ? rest : rest.slice(0, slash)
  if (slash >= 0 && looksLikeHost(first)) {
    const problem = hostProblem(first)
    if (problem !== undefined) refuse(text, problem)
    const host = first.toLowerCase()
    const hub = host === 'index.docker.io' || host === 'registry-1.docker.io' || host === 'docker.io'
    const path = rest.slice(slash + 1)
    return {host: hub ? 'docker.io' : host, path: hub && !path.includes('/') ? `library/${path}` : path, notes: []}
  }
  const path = rest.includes('/') ? rest : `library/${rest}`
  return {host: 'docker.io', path, notes: [`no registry in "${cleanText(text)}": read as docker.io/${cleanText(path)}`]}
}

/**
 * Parses `[oci://][host[:port]/]path[:tag][@digest]`.
 * A tag or digest is needed: `latest` is never assumed; only a chart (`oci://`) may come without, its version is then looked up.
 * @throws SrcipError Usage naming the text and the reason
 */
export function parseReference(text: string): Reference {
  const chart = text.startsWith('oci://')
  const plain = chart ? text.slice('oci://'.length) : text
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(plain)) {
    refuse(text, 'starts with a scheme; write host/path:tag', [
      `try ${cleanText(plain.replace(/^[a-z0-9+.-]*:\/\//i, ''))}`,
    ])
  }
  if (/[\s\u0000-\u001f\u007f]/.test(plain)) refuse(text, 'holds white space or control characters')
  const at = plain.indexOf('@')
  const digest = at < 0 ? undefined : plain.slice(at + 1)
  const beforeDigest = at < 0 ? plain : plain.slice(0, at)
  if (digest !== undefined) {
    const problem = digestProblem(digest)
    if (problem !== undefined) refuse(text, `has a digest that ${problem}`)
  }
  const {name, tag: writtenTag} = splitTag(beforeDigest)
  const {host, path, notes} = splitHost(text, name)
  const problem = repositoryProblem(path)
  if (problem !== undefined) refuse(text, problem)
  const tag = writtenTag === undefined ? undefined : chart ? versionToTag(writtenTag) : writtenTag
  if (tag !== undefined && !isTag(tag)) refuse(text, `has the tag "${cleanText(tag)}", which is not allowed`)
  if (`${host}/${path}`.length > nameLength) refuse(text, `is longer than ${nameLength} characters`)
  if (tag === undefined && digest === undefined && !chart) {
    refuse(text, 'has neither tag nor digest; latest is not assumed', [
      `write ${cleanText(plain)}:TAG or ${cleanText(plain)}@sha256:…`,
    ])
  }
  return {
    host,
    repository: path,
    ...(tag === undefined ? {} : {tag}),
    ...(digest === undefined ? {} : {digest}),
    chart,
    notes,
  }
}

/** A colon after the last slash starts the tag; one before it belongs to the port. */
function splitTag(text: string): {name: string; tag: string | undefined} {
  const colon = text.lastIndexOf(':')
  if (colon < 0 || colon < text.lastIndexOf('/') || (text.indexOf('/') < 0 && text.startsWith('['))) {
    return {name: text, tag: undefined}
  }
  return {name: text.slice(0, colon), tag: text.slice(colon + 1)}
}

/** `host/path`, the name without tag and digest. */
export function repositoryName(reference: Pick<Reference, 'host' | 'repository'>): string {
  return `${reference.host}/${reference.repository}`
}

/** The reference as people write it: tag and digest where they are known. */
export function formatReference(reference: Pick<Reference, 'host' | 'repository' | 'tag' | 'digest'>): string {
  const tag = reference.tag === undefined ? '' : `:${reference.tag}`
  const digest = reference.digest === undefined ? '' : `@${reference.digest}`
  return `${repositoryName(reference)}${tag}${digest}`
}

/** Destination of a mirror: a host and the path that goes before every repository. */
export interface TargetPrefix {
  readonly host: string
  /** Without slashes at either end; empty for none. */
  readonly prefix: string
}

/**
 * Parses `HOST[:PORT][/PREFIX]` of `--to`.
 * @throws SrcipError Usage
 */
export function parseTarget(text: string): TargetPrefix {
  if (text.includes('://')) {
    refuse(text, 'starts with a scheme', [
      `write --to ${cleanText(text.replace(/^.*:\/\//, ''))}; plain http is chosen by --plain-http HOST`,
    ])
  }
  const slash = text.indexOf('/')
  const host = (slash < 0 ? text : text.slice(0, slash)).toLowerCase()
  const prefix = slash < 0 ? '' : text.slice(slash + 1).replace(/\/+$/, '')
  const problem = hostProblem(host) ?? (prefix === '' ? undefined : repositoryProblem(prefix))
  if (problem !== undefined) refuse(text, problem)
  return {host, prefix}
}

/** The host that the API of a registry is served on; Docker Hub's differs from its name. */
export function apiHost(host: string): string {
  return host === 'docker.io' ? 'registry-1.docker.io' : host
}
