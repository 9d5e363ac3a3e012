import {createHash} from 'node:crypto'
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http'
import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'

/**
 * A registry of our own for what the real ones cannot be made to do: serving an index whose child is missing, refusing media
 * types, answering `sha256-HEX` tags with the subject, accounts by path, 429, chunk minimums, sparse indexes.
 */
export interface LayoutRegistryOptions {
  /** OCI layout whose tags are served in `repository`; children that are not in it are missing. */
  readonly layout?: string
  readonly repository?: string
  /** Media types refused with 415. */
  readonly refuses?: (mediaType: string, body: Record<string, unknown>) => boolean
  /** `prefix` to `user:password`; a repository wants the login of its longest prefix. */
  readonly accounts?: Readonly<Record<string, string>>
  readonly referrers?: boolean
  /** `manifests/sha256-HEX` is read as the digest, as GitLab does. */
  readonly aliasDash?: boolean
  /** Takes an index whose children are not there. */
  readonly sparse?: boolean
  /** Called before everything else; true means that it has answered. */
  readonly before?: (request: IncomingMessage, response: ServerResponse, count: number) => boolean | Promise<boolean>
  /** Adds headers to answers. */
  readonly headers?: (request: IncomingMessage) => Record<string, string>
  /** How uploads behave: `ranged` wants PATCH with Content-Range of at most this many bytes. */
  readonly largestBody?: number
}

export interface LayoutRegistry {
  readonly host: string
  readonly log: string[]
  readonly tags: Map<string, string>
  readonly manifests: Map<string, {readonly bytes: Buffer; readonly type: string}>
  readonly blobs: Map<string, Buffer>
  close(): Promise<void>
}

function sha256(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

function bodyOf(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => resolve(Buffer.concat(chunks)))
    request.on('error', reject)
  })
}

export async function layoutRegistry(options: LayoutRegistryOptions = {}): Promise<LayoutRegistry> {
  const blobs = new Map<string, Buffer>()
  const manifests = new Map<string, {bytes: Buffer; type: string}>()
  const tags = new Map<string, string>()
  const uploads = new Map<string, Buffer>()
  const log: string[] = []
  if (options.layout !== undefined) load(options.layout, options.repository ?? 'layout')

  function load(layout: string, repository: string): void {
    for (const hex of readdirSync(join(layout, 'blobs/sha256')))
      blobs.set(`sha256:${hex}`, readFileSync(join(layout, 'blobs/sha256', hex)))
    const index = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as {
      manifests: {digest: string; mediaType: string; annotations: Record<string, string>}[]
    }
    const take = (digest: string, type: string): void => {
      const bytes = blobs.get(digest)
      if (bytes === undefined) return
      manifests.set(`${repository} ${digest}`, {bytes, type})
      for (const child of (JSON.parse(bytes.toString()) as {manifests?: {digest: string; mediaType: string}[]})
        .manifests ?? [])
        take(child.digest, child.mediaType)
    }
    for (const entry of index.manifests) {
      take(entry.digest, entry.mediaType)
      tags.set(`${repository} ${entry.annotations['org.opencontainers.image.ref.name']}`, entry.digest)
    }
  }

  const fail = (response: ServerResponse, status: number, code: string, headers: Record<string, string> = {}): void => {
    response.writeHead(status, {'content-type': 'application/json', ...headers})
    response.end(JSON.stringify({errors: [{code, message: code.toLowerCase()}]}))
  }

  function allowed(request: IncomingMessage, repository: string): boolean {
    if (options.accounts === undefined) return true
    const best = Object.keys(options.accounts)
      .filter((prefix) => repository === prefix || repository.startsWith(`${prefix}/`))
      .sort((one, other) => other.length - one.length)[0]
    return (
      best !== undefined &&
      request.headers.authorization === `Basic ${Buffer.from(options.accounts[best] ?? '').toString('base64')}`
    )
  }

  async function manifest(
    request: IncomingMessage,
    response: ServerResponse,
    repository: string,
    given: string,
  ): Promise<void> {
    const reference =
      options.aliasDash === true && /^sha256-[0-9a-f]{64}$/.test(given) ? given.replace('-', ':') : given
    if (request.method === 'PUT') {
      const bytes = await bodyOf(request)
      const type = request.headers['content-type'] ?? ''
      const body = JSON.parse(bytes.toString()) as {
        manifests?: {digest: string}[]
        config?: {digest: string}
        layers?: {digest: string}[]
        subject?: {digest: string}
      }
      if (options.refuses?.(type, body) === true) return fail(response, 415, 'UNSUPPORTED')
      if (reference.startsWith('sha256:') && reference !== sha256(bytes)) return fail(response, 400, 'DIGEST_INVALID')
      const missingChild =
        options.sparse !== true &&
        (body.manifests ?? []).some((child) => !manifests.has(`${repository} ${child.digest}`))
      if (missingChild) return fail(response, 404, 'MANIFEST_BLOB_UNKNOWN')
      if ([body.config, ...(body.layers ?? [])].some((blob) => blob !== undefined && !blobs.has(blob.digest)))
        return fail(response, 400, 'MANIFEST_BLOB_UNKNOWN')
      const digest = sha256(bytes)
      manifests.set(`${repository} ${digest}`, {bytes, type})
      if (!reference.startsWith('sha256:')) tags.set(`${repository} ${reference}`, digest)
      response.writeHead(201, {
        'docker-content-digest': digest,
        ...(body.subject !== undefined && options.referrers === true ? {'oci-subject': body.subject.digest} : {}),
      })
      response.end()
      return
    }
    const digest = reference.startsWith('sha256:') ? reference : tags.get(`${repository} ${reference}`)
    const found = digest === undefined ? undefined : manifests.get(`${repository} ${digest}`)
    if (found === undefined || digest === undefined) return fail(response, 404, 'MANIFEST_UNKNOWN')
    response.writeHead(200, {
      'content-type': found.type,
      'docker-content-digest': digest,
      'content-length': String(found.bytes.length),
      ...options.headers?.(request),
    })
    response.end(request.method === 'HEAD' ? undefined : found.bytes)
  }

  async function upload(
    request: IncomingMessage,
    response: ServerResponse,
    repository: string,
    url: URL,
  ): Promise<void> {
    const id = url.pathname.split('/').at(-1) ?? ''
    const location = (name: string): string =>
      `/v2/${repository}/blobs/uploads/${name}?state=${name}-${uploads.get(name)?.length ?? 0}`
    if (request.method === 'POST') {
      const name = String(uploads.size + 1)
      uploads.set(name, Buffer.alloc(0))
      response.writeHead(202, {location: location(name), range: '0-0', ...options.headers?.(request)})
      response.end()
      return
    }
    if (request.method === 'DELETE') {
      response.writeHead(204)
      response.end()
      return
    }
    const held = uploads.get(id)
    if (held === undefined || url.searchParams.get('state') !== `${id}-${held.length}`)
      return fail(response, 404, 'BLOB_UPLOAD_UNKNOWN')
    const bytes = await bodyOf(request)
    if (options.largestBody !== undefined && bytes.length > options.largestBody)
      return fail(response, 413, 'SIZE_INVALID')
    const whole = Buffer.concat([held, bytes])
    uploads.set(id, whole)
    if (request.method === 'PATCH') {
      response.writeHead(202, {location: location(id), range: `0-${Math.max(0, whole.length - 1)}`})
      response.end()
      return
    }
    if (sha256(whole) !== url.searchParams.get('digest')) return fail(response, 400, 'DIGEST_INVALID')
    blobs.set(sha256(whole), whole)
    response.writeHead(201, {'docker-content-digest': sha256(whole)})
    response.end()
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://registry')
    const login = request.headers.authorization
    const user =
      login?.startsWith('Basic ') === true
        ? (Buffer.from(login.slice(6), 'base64').toString().split(':')[0] ?? '')
        : (login ?? '-')
    log.push(`${request.method} ${url.pathname}${url.search} ${user}`)
    if ((await options.before?.(request, response, log.length)) === true) return
    const match = /^\/v2\/(.+?)\/(manifests|blobs|referrers|tags)\/(.*)$/.exec(decodeURIComponent(url.pathname))
    if (match === null) return fail(response, 404, 'NAME_UNKNOWN')
    const [, repository = '', kind, reference = ''] = match
    if (!allowed(request, repository))
      return fail(response, 401, 'UNAUTHORIZED', {'www-authenticate': 'Basic realm="layout"'})
    if (kind === 'manifests') return manifest(request, response, repository, reference)
    if (kind === 'referrers') {
      if (options.referrers !== true) return fail(response, 404, 'NOT_FOUND')
      const list = [...manifests].filter(
        ([key, {bytes}]) =>
          key.startsWith(`${repository} `) &&
          (JSON.parse(bytes.toString()) as {subject?: {digest: string}}).subject?.digest === reference,
      )
      response.writeHead(200, {'content-type': 'application/vnd.oci.image.index.v1+json'})
      response.end(
        JSON.stringify({
          schemaVersion: 2,
          mediaType: 'application/vnd.oci.image.index.v1+json',
          manifests: list.map(([key, {bytes, type}]) => ({
            mediaType: type,
            digest: key.split(' ')[1],
            size: bytes.length,
          })),
        }),
      )
      return
    }
    if (kind === 'tags') {
      response.writeHead(200, {'content-type': 'application/json'})
      response.end(
        JSON.stringify({
          name: repository,
          tags: [...tags.keys()].filter((key) => key.startsWith(`${repository} `)).map((key) => key.split(' ')[1]),
        }),
      )
      return
    }
    if (reference.startsWith('uploads')) return upload(request, response, repository, url)
    const blob = blobs.get(reference)
    if (blob === undefined) return fail(response, 404, 'BLOB_UNKNOWN')
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      'content-length': String(blob.length),
      ...options.headers?.(request),
    })
    response.end(request.method === 'HEAD' ? undefined : blob)
  }

  const server: Server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      log.push(`! ${String(error)}`)
      response.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const {port} = server.address() as {port: number}
  return {
    host: `127.0.0.1:${port}`,
    log,
    tags,
    manifests,
    blobs,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}
