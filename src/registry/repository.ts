import {SrcipError} from '../model/errors.ts'
import type {Need} from './auth/authorizer.ts'
import {type Answer, type Call, header, type RegistryClient, type RegistryHost} from './client.ts'
import {isDigest, parseDigest} from './digest.ts'
import type {BulkSink} from './http/bulk-read.ts'
import {resolveLocation} from './http/redirect.ts'
import {limits} from './limits.ts'
import {type Descriptor, type Manifest, readManifest} from './manifest.ts'
import {acceptManifests, bareType, mediaTypes} from './media-types.ts'
import {cleanText} from './text.ts'

/** What a HEAD of a manifest tells. */
export interface ManifestHead {
  /** Absent where the registry does not send Docker-Content-Digest. */
  readonly digest: string | undefined
  readonly size: number | undefined
  readonly mediaType: string | undefined
}

/** Lower numbers go first where requests queue: manifests before checks before bulk. */
export const priorities = {manifest: 0, check: 1, upload: 2, download: 3} as const

/** One repository of a registry, read only or writable. */
export class Repository {
  readonly client: RegistryClient
  readonly state: RegistryHost
  readonly name: string
  readonly #need: Need

  /**
   * @param host registry as people write it, with port
   * @param name path below the host
   * @param use `pull` reads, and may read without a login when the stored one is refused; `verify` reads but never does that; `push` writes
   */
  constructor(client: RegistryClient, host: string, name: string, use: 'pull' | 'verify' | 'push') {
    this.client = client
    this.state = client.host(host)
    this.name = name
    this.#need = {
      repository: name,
      scopes: [`repository:${name}:${use === 'push' ? 'pull,push' : 'pull'}`],
      anonymousRetry: use === 'pull',
    }
  }

  get host(): string {
    return this.state.host
  }

  /** `host/path`. */
  get fullName(): string {
    return `${this.state.host}/${this.name}`
  }

  call(call: Omit<Call, 'need'> & {readonly from?: string}): Promise<Answer> {
    const need =
      call.from === undefined
        ? this.#need
        : {...this.#need, scopes: [...this.#need.scopes, `repository:${call.from}:pull`]}
    return this.client.call(this.state, {...call, need})
  }

  path(rest: string): string {
    return `/v2/${this.name}/${rest}`
  }

  nameOf(reference: string): string {
    return `${this.fullName}${isDigest(reference) ? '@' : ':'}${reference}`
  }

  /**
   * Reads a manifest by tag or digest, every byte of it.
   * @throws RegistryError (404: not there); SrcipError CheckFailed when the content is not what was asked for
   */
  async manifest(
    reference: string,
    options: {readonly descriptorType?: string; readonly ns?: string} = {},
  ): Promise<Manifest> {
    const what = `manifest ${this.nameOf(reference)}`
    const query = options.ns === undefined ? '' : `?ns=${encodeURIComponent(options.ns)}`
    const answer = await this.call({
      method: 'GET',
      address: this.path(`manifests/${reference}`) + query,
      headers: {accept: acceptManifests, 'accept-encoding': 'identity'},
      expect: [200],
      read: limits.manifestRead,
      what,
      priority: priorities.manifest,
    })
    this.state.manifestReads++
    refuseEncoding(answer, what)
    const announced = header(answer, 'docker-content-digest')
    const manifest = readManifest(answer.body, {
      name: this.nameOf(reference),
      ...(isDigest(reference) ? {digest: reference} : {}),
      ...(options.descriptorType === undefined ? {} : {descriptorType: options.descriptorType}),
      contentType: header(answer, 'content-type'),
    })
    if (
      announced !== undefined &&
      isDigest(announced) &&
      sameAlgorithm(announced, manifest.digest) &&
      announced !== manifest.digest
    ) {
      throw new SrcipError(
        'CheckFailed',
        `${what}: ${this.host} calls it ${announced}, its content hashes to ${manifest.digest}`,
      )
    }
    for (const warning of manifest.warnings) this.client.warn(warning)
    return manifest
  }

  /** Asks for a manifest without reading it. @returns undefined when it is not there */
  async head(reference: string): Promise<ManifestHead | undefined> {
    const ask = (method: 'HEAD' | 'GET', expect: readonly number[]): Promise<Answer> =>
      this.call({
        method,
        address: this.path(`manifests/${reference}`),
        headers: {accept: acceptManifests},
        expect,
        read: method === 'HEAD' ? 0 : limits.manifestRead,
        what: `manifest ${this.nameOf(reference)}`,
        priority: priorities.manifest,
      })
    let answer = await ask('HEAD', [200, 404, 500])
    if (answer.status === 500) {
      // distribution as a pull-through cache answers so for what its source does not have; only the body of a GET tells.
      const told = await ask('GET', [200, 404, 500])
      if (told.status === 500 && /(?:manifest|name)[ _]unknown/i.test(told.body.toString('utf8'))) return undefined
      answer = told.status === 500 ? await ask('HEAD', [200, 404]) : told
    }
    if (answer.status === 404) return undefined
    const digest = header(answer, 'docker-content-digest')
    const size = header(answer, 'content-length')
    return {
      digest: digest !== undefined && isDigest(digest) ? digest : undefined,
      size: size === undefined ? undefined : Number(size),
      mediaType: bareType(header(answer, 'content-type')),
    }
  }

  /** The digest that a tag names now; falls back to reading the manifest where HEAD does not tell. */
  async tagDigest(tag: string): Promise<string | undefined> {
    const head = await this.head(tag)
    if (head === undefined) return undefined
    return head.digest ?? (await this.manifest(tag)).digest
  }

  /** Is a blob there, with the right size where the registry tells it? */
  async hasBlob(descriptor: Descriptor): Promise<boolean> {
    const answer = await this.call({
      method: 'HEAD',
      address: this.path(`blobs/${descriptor.digest}`),
      expect: [200, 404],
      read: 0,
      what: `blob ${this.nameOf(descriptor.digest)}`,
      priority: priorities.check,
    })
    if (answer.status === 404) return false
    const size = header(answer, 'content-length')
    return size === undefined || Number(size) === descriptor.size
  }

  /**
   * Writes a manifest's exact bytes under a digest or tag.
   * @returns whether the registry has indexed its subject (OCI-Subject), so that no fallback tag is needed
   */
  async putManifest(reference: string, manifest: Manifest): Promise<{readonly subjectIndexed: boolean}> {
    const answer = await this.call({
      method: 'PUT',
      address: this.path(`manifests/${reference}`),
      headers: {'content-type': manifest.mediaType},
      body: manifest.bytes,
      expect: [200, 201, 202],
      read: limits.errorBody,
      what: `manifest ${this.nameOf(reference)}${isDigest(reference) ? '' : ` (${manifest.digest})`}`,
      priority: priorities.manifest,
    })
    const announced = header(answer, 'docker-content-digest')
    if (
      announced !== undefined &&
      isDigest(announced) &&
      sameAlgorithm(announced, manifest.digest) &&
      announced !== manifest.digest
    ) {
      throw new SrcipError(
        'CheckFailed',
        `${this.nameOf(reference)}: ${this.host} stored it as ${announced} instead of ${manifest.digest}`,
      )
    }
    return {
      subjectIndexed: header(answer, 'oci-subject') === manifest.subject?.digest && manifest.subject !== undefined,
    }
  }

  /**
   * Reads a large blob on a connection of its own, in one reused buffer.
   * @returns false when this registry needs the usual way (TLS, a proxy, a redirect, a login not known yet)
   */
  async readBulk(descriptor: Descriptor, offset: number, sink: BulkSink): Promise<boolean> {
    const url = new URL(this.state.origin + this.path(`blobs/${descriptor.digest}`))
    const authorization = await this.state.authorizer.header(this.#need)
    const headers: Record<string, string> = {'accept-encoding': 'identity'}
    if (authorization !== undefined) headers['authorization'] = authorization
    const {stallTimeout, transport} = this.client
    return transport.readBulk({url, headers, offset, size: descriptor.size, stallTimeout}, sink)
  }

  /** One page of descriptors or tags after the other, following Link on the same origin. */
  async *pages(
    first: string,
    expect: readonly number[],
    what: string,
    headers: Record<string, string> = {},
  ): AsyncGenerator<Answer> {
    let address: string | URL = first
    for (let page = 0; ; page++) {
      if (page >= limits.pages) throw new SrcipError('Precondition', `${what}: more than ${limits.pages} pages`)
      const answer: Answer = await this.call({
        method: 'GET',
        address,
        headers,
        expect,
        read: limits.page,
        what,
        priority: priorities.manifest,
      })
      yield answer
      const next = /<([^>]*)>\s*;[^,]*rel="?next"?/.exec(header(answer, 'link') ?? '')?.[1]
      if (answer.status !== 200 || next === undefined) return
      const url = resolveLocation(next, answer.url, this.host)
      if (url.origin !== this.state.origin)
        throw new SrcipError('Denied', `${what}: ${this.host} continues the list on another origin: refused`)
      address = url
    }
  }

  /** All tags of the repository, as the registry orders them. */
  async tags(): Promise<string[]> {
    const what = `tags of ${this.fullName}`
    const tags: string[] = []
    for await (const answer of this.pages(this.path('tags/list?n=1000'), [200], what)) {
      const list = (readJson(answer.body, what) as {tags?: unknown}).tags
      if (Array.isArray(list)) tags.push(...list.filter((tag): tag is string => typeof tag === 'string'))
    }
    return tags
  }
}

/** Parses a JSON document of a registry. @throws SrcipError Precondition */
export function readJson(body: Buffer, what: string): unknown {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Falls through to the error below.
  }
  throw new SrcipError(
    'Precondition',
    `${what}: the answer is not a JSON document: ${cleanText(body.toString('utf8', 0, 200), 80)}`,
  )
}

/** A proxy that unpacks or packs bodies changes bytes, and with them digests. */
export function refuseEncoding(answer: Answer, what: string): void {
  const encoding = header(answer, 'content-encoding')
  if (encoding !== undefined && encoding !== 'identity') {
    answer.stream?.destroy()
    throw new SrcipError(
      'CheckFailed',
      `${what}: arrives with Content-Encoding ${cleanText(encoding)}; something on the way changes the bytes`,
    )
  }
}

function sameAlgorithm(one: string, other: string): boolean {
  return parseDigest(one).algorithm === parseDigest(other).algorithm
}

/** Is this Helm's chart manifest? */
export function isChart(manifest: Manifest): boolean {
  return manifest.configType === mediaTypes.helmConfig
}
