import {createHash} from 'node:crypto'
import {gzipSync} from 'node:zlib'

/** Content of tests, made here and deterministic: no network, no random numbers. */

export interface Blob {
  readonly digest: string
  readonly bytes: Buffer
  readonly mediaType: string
}

export interface Document {
  readonly digest: string
  readonly bytes: Buffer
  readonly mediaType: string
  readonly blobs: readonly Blob[]
  readonly children: readonly Document[]
}

export const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
  empty: 'application/vnd.oci.empty.v1+json',
  helmConfig: 'application/vnd.cncf.helm.config.v1+json',
  helmChart: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
  bundle: 'application/vnd.dev.sigstore.bundle.v0.3+json',
}

export function sha256(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

/** Bytes that do not compress, the same for the same seed. */
export function noise(seed: string, size: number): Buffer {
  const out = Buffer.alloc(size)
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0) || 1
  for (let at = 0; at + 4 <= size; at += 4) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    out.writeInt32LE(state | 0, at)
  }
  return out
}

export function blob(bytes: Buffer | string, mediaType: string): Blob {
  const buffer = Buffer.from(bytes)
  return {digest: sha256(buffer), bytes: buffer, mediaType}
}

export function pointer(content: Blob | Document, more: object = {}): object {
  return {mediaType: content.mediaType, digest: content.digest, size: content.bytes.length, ...more}
}

/** A document of exact bytes; `text` overrides the JSON to test odd spacing. */
export function document(
  mediaType: string,
  json: object,
  blobs: readonly Blob[] = [],
  children: readonly Document[] = [],
  text?: string,
): Document {
  const bytes = Buffer.from(text ?? JSON.stringify(json))
  return {digest: sha256(bytes), bytes, mediaType, blobs, children}
}

export function image(
  seed: string,
  options: {
    readonly layers?: number
    readonly layerSize?: number
    readonly architecture?: string
    readonly shared?: readonly Blob[]
  } = {},
): Document {
  const {layers = 2, layerSize = 2000, architecture = 'amd64', shared = []} = options
  const config = blob(
    JSON.stringify({architecture, os: 'linux', config: {}, seed, rootfs: {type: 'layers', diff_ids: []}}),
    types.config,
  )
  const own = Array.from({length: layers}, (_, at) =>
    blob(noise(`${seed} ${architecture} ${at}`, layerSize), types.layer),
  )
  const all = [...shared, ...own]
  return document(
    types.manifest,
    {schemaVersion: 2, mediaType: types.manifest, config: pointer(config), layers: all.map((layer) => pointer(layer))},
    [config, ...all],
  )
}

/** An image that containerd can unpack has real gzip tars as layers; this one has a single empty-ish file. */
export function gzipLayer(text: string): Blob {
  return blob(gzipSync(Buffer.concat([tarFile('file', Buffer.from(text)), Buffer.alloc(1024)])), types.layer)
}

/** One ustar entry with its padding. */
export function tarFile(
  name: string,
  content: Buffer,
  options: {readonly type?: string; readonly link?: string; readonly size?: number} = {},
): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0)
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${(options.size ?? content.length).toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('        ', 148)
  header.write(options.type ?? '0', 156)
  if (options.link !== undefined) header.write(options.link, 157)
  header.write('ustar\0', 257)
  header.write('00', 263)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)])
}

/** Index over amd64 and arm64 with a buildkit attestation of each. */
export function multiArch(
  seed: string,
  options: {readonly layerSize?: number; readonly layers?: number} = {},
): Document {
  const platforms = ['amd64', 'arm64'].map((architecture) => ({
    architecture,
    manifest: image(seed, {...options, architecture}),
  }))
  const attestations = platforms.map(({manifest, architecture}) => ({
    about: manifest,
    manifest: attestation(`${seed} ${architecture}`),
  }))
  const manifests = [
    ...platforms.map(({manifest, architecture}) => pointer(manifest, {platform: {architecture, os: 'linux'}})),
    ...attestations.map(({about, manifest}) =>
      pointer(manifest, {
        platform: {architecture: 'unknown', os: 'unknown'},
        annotations: {'vnd.docker.reference.type': 'attestation-manifest', 'vnd.docker.reference.digest': about.digest},
      }),
    ),
  ]
  const children = [...platforms.map(({manifest}) => manifest), ...attestations.map(({manifest}) => manifest)]
  return document(types.index, {schemaVersion: 2, mediaType: types.index, manifests}, [], children)
}

function attestation(seed: string): Document {
  const config = blob(JSON.stringify({architecture: 'unknown', os: 'unknown', seed}), types.config)
  const statement = blob(
    JSON.stringify({_type: 'https://in-toto.io/Statement/v0.1', seed}),
    'application/vnd.in-toto+json',
  )
  return document(
    types.manifest,
    {schemaVersion: 2, mediaType: types.manifest, config: pointer(config), layers: [pointer(statement)]},
    [config, statement],
  )
}

/** An artifact that points at a subject: a signature bundle, an SBOM. */
export function referrer(
  subject: Document,
  artifactType: string,
  content: string,
  annotations: Record<string, string> = {},
): Document {
  const config = blob('{}', types.empty)
  const layer = blob(content, artifactType)
  return document(
    types.manifest,
    {
      schemaVersion: 2,
      mediaType: types.manifest,
      artifactType,
      config: pointer(config),
      layers: [pointer(layer)],
      subject: pointer(subject),
      annotations,
    },
    [config, layer],
  )
}

/** A Helm chart of files. */
export function chart(name: string, version: string, files: Record<string, string>): Document {
  const tar = Buffer.concat([
    ...Object.entries(files).map(([path, text]) => tarFile(`${name}/${path}`, Buffer.from(text))),
    Buffer.alloc(1024),
  ])
  const config = blob(JSON.stringify({name, version, apiVersion: 'v2'}), types.helmConfig)
  const content = blob(gzipSync(tar), types.helmChart)
  return document(
    types.manifest,
    {schemaVersion: 2, mediaType: types.manifest, config: pointer(config), layers: [pointer(content)]},
    [config, content],
  )
}

/** Pushes a document and everything below it with plain requests of its own, so that the product is not tested with itself. */
export async function push(
  host: string,
  repository: string,
  content: Document,
  tags: readonly string[] = [],
): Promise<void> {
  for (const child of content.children) await push(host, repository, child)
  for (const one of new Map(content.blobs.map((entry) => [entry.digest, entry])).values())
    await pushBlob(host, repository, one)
  for (const reference of tags.length === 0 ? [content.digest] : tags) {
    const answer = await fetch(`http://${host}/v2/${repository}/manifests/${reference}`, {
      method: 'PUT',
      headers: {'content-type': content.mediaType},
      body: new Uint8Array(content.bytes),
    })
    if (answer.status !== 201) throw new Error(`PUT ${reference}: ${answer.status} ${await answer.text()}`)
  }
}

export async function pushBlob(host: string, repository: string, content: Blob): Promise<void> {
  const start = await fetch(`http://${host}/v2/${repository}/blobs/uploads/`, {method: 'POST'})
  const url = new URL(start.headers.get('location') ?? '', `http://${host}`)
  url.searchParams.set('digest', content.digest)
  const answer = await fetch(url, {
    method: 'PUT',
    headers: {'content-type': 'application/octet-stream'},
    body: new Uint8Array(content.bytes),
  })
  if (answer.status !== 201) throw new Error(`PUT ${content.digest}: ${answer.status} ${await answer.text()}`)
}

const accept = [types.index, types.manifest, types.dockerList, types.dockerManifest].join(', ')

/** The digest a registry serves at a reference, from the bytes themselves; undefined for 404. */
export async function digestAt(host: string, repository: string, reference: string): Promise<string | undefined> {
  const answer = await fetch(`http://${host}/v2/${repository}/manifests/${reference}`, {headers: {accept}})
  if (answer.status === 404) return undefined
  if (answer.status !== 200) throw new Error(`GET ${reference}: ${answer.status}`)
  return sha256(Buffer.from(await answer.arrayBuffer()))
}

/** Everything a document needs that a registry does not serve, byte for byte. */
export async function missingAt(host: string, repository: string, content: Document): Promise<string[]> {
  const missing: string[] = []
  if ((await digestAt(host, repository, content.digest)) !== content.digest) missing.push(content.digest)
  for (const one of content.blobs) {
    const answer = await fetch(`http://${host}/v2/${repository}/blobs/${one.digest}`)
    if (answer.status !== 200 || sha256(Buffer.from(await answer.arrayBuffer())) !== one.digest)
      missing.push(one.digest)
  }
  for (const child of content.children) missing.push(...(await missingAt(host, repository, child)))
  return missing
}
