import {SrcipError} from '../model/errors.ts'
import {digestOf, digestProblem, isDigest} from './digest.ts'
import {limits} from './limits.ts'
import {bareType, isIndexType, isManifestType, isSchema1, mediaTypes} from './media-types.ts'
import {cleanText} from './text.ts'

/** Platform of an index entry; `unknown/unknown` marks attestations of buildkit. */
export interface Platform {
  readonly os: string
  readonly architecture: string
  readonly variant?: string
  readonly osVersion?: string
}

/** A pointer to content: what it is, its digest and its exact size in bytes. */
export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly platform?: Platform
  readonly annotations?: Readonly<Record<string, string>>
  readonly artifactType?: string
  /** Addresses outside the registry (foreign layers). Never fetched. */
  readonly urls?: readonly string[]
}

/** A manifest or index: the exact bytes, and what they say. The bytes are what is copied, always. */
export interface Manifest {
  readonly kind: 'index' | 'manifest'
  readonly mediaType: string
  readonly digest: string
  readonly bytes: Buffer
  /** Entries of an index, in order. */
  readonly children: readonly Descriptor[]
  /** Config and layers of a manifest, each digest once, in order. */
  readonly blobs: readonly Descriptor[]
  readonly configType?: string
  readonly subject?: Descriptor
  readonly artifactType?: string
  readonly annotations: Readonly<Record<string, string>>
  /** Differences between the places that name the media type. */
  readonly warnings: readonly string[]
}

export interface ReadOptions {
  /** Name of the document in messages. */
  readonly name: string
  /** The digest that was asked for; without it (fetched by tag) the hash of the bytes is the digest. */
  readonly digest?: string
  /** Media type of the descriptor that pointed here. */
  readonly descriptorType?: string
  /** Content-Type header of the answer. */
  readonly contentType?: string | undefined
}

type Json = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function bad(name: string, reason: string): never {
  throw new SrcipError('Precondition', `${name}: ${reason}`)
}

function readStrings(value: unknown): Record<string, string> {
  if (!isObject(value)) return {}
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

function readPlatform(value: unknown): Platform | undefined {
  if (!isObject(value)) return undefined
  const text = (key: string): string | undefined =>
    typeof value[key] === 'string' ? cleanText(value[key], 100) : undefined
  const variant = text('variant')
  const osVersion = text('os.version')
  return {
    os: text('os') ?? 'unknown',
    architecture: text('architecture') ?? 'unknown',
    ...(variant === undefined || variant === '' ? {} : {variant}),
    ...(osVersion === undefined || osVersion === '' ? {} : {osVersion}),
  }
}

/** Checks one descriptor of a document; sizes must be whole, positive and exact in a double. */
function readDescriptor(value: unknown, where: string, name: string): Descriptor {
  if (!isObject(value)) bad(name, `${where} is not a descriptor`)
  const {digest, size, mediaType} = value
  if (typeof digest !== 'string') bad(name, `${where} has no digest`)
  const problem = digestProblem(digest)
  if (problem !== undefined) bad(name, `${where}: digest "${cleanText(digest)}" ${problem}`)
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    bad(name, `${where} (${digest}) has no valid size`)
  if (size > limits.blob) bad(name, `${where} (${digest}) claims ${size} bytes, more than the limit of ${limits.blob}`)
  const platform = readPlatform(value['platform'])
  const annotations = readStrings(value['annotations'])
  return {
    mediaType: typeof mediaType === 'string' ? mediaType : 'application/octet-stream',
    digest,
    size,
    ...(platform === undefined ? {} : {platform}),
    ...(Object.keys(annotations).length === 0 ? {} : {annotations}),
    ...(typeof value['artifactType'] === 'string' ? {artifactType: value['artifactType']} : {}),
    ...(Array.isArray(value['urls']) && value['urls'].length > 0 ? {urls: value['urls'].map(String)} : {}),
  }
}

function readList(value: unknown, key: string, name: string): Descriptor[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) bad(name, `${key} is not a list`)
  if (value.length > limits.descriptors)
    bad(name, `${key} has ${value.length} entries, more than ${limits.descriptors}`)
  return value.map((entry, at) => readDescriptor(entry, `${key}[${at}]`, name))
}

function unique(descriptors: readonly Descriptor[], name: string): Descriptor[] {
  const seen = new Map<string, Descriptor>()
  for (const descriptor of descriptors) {
    const before = seen.get(descriptor.digest)
    if (before !== undefined && before.size !== descriptor.size) {
      bad(name, `${descriptor.digest} is listed with two sizes, ${before.size} and ${descriptor.size}`)
    }
    if (before === undefined) seen.set(descriptor.digest, descriptor)
  }
  return [...seen.values()]
}

const documentKeys = [
  'schemaVersion',
  'mediaType',
  'manifests',
  'config',
  'layers',
  'subject',
  'fsLayers',
  'artifactType',
]

/** A reader that ignores letter case (Go's) would see another document: CVE-2021-41190's family. */
function refuseAmbiguity(document: Json, name: string): void {
  for (const key of Object.keys(document)) {
    const known = documentKeys.find((candidate) => candidate.toLowerCase() === key.toLowerCase())
    if (known !== undefined && known !== key)
      bad(name, `holds the key "${cleanText(key)}", which some readers take for ${known}`)
  }
  if (
    document['manifests'] !== undefined &&
    ['config', 'layers', 'fsLayers'].some((key) => document[key] !== undefined)
  ) {
    bad(name, 'is both an index and a manifest (CVE-2021-41190): refused')
  }
}

function chooseType(document: Json, options: ReadOptions, warnings: string[]): string {
  const inner = bareType(typeof document['mediaType'] === 'string' ? document['mediaType'] : undefined)
  const header = bareType(options.contentType)
  const pointed = bareType(options.descriptorType)
  const candidates = [inner, pointed, header].filter((type): type is string => type !== undefined)
  const documentTypes = candidates.filter((type) => isIndexType(type) || isManifestType(type) || isSchema1(type))
  const different = [...new Set(documentTypes)]
  if (different.length > 1) {
    const list = different.map((type) => cleanText(type, 80)).join(' and ')
    if (options.digest === undefined) bad(options.name, `is called ${list} at once: refused for a fetch by tag`)
    warnings.push(`${options.name}: called ${list}; ${inner ?? pointed} is used`)
  }
  return (
    inner ??
    pointed ??
    documentTypes[0] ??
    (document['manifests'] === undefined ? mediaTypes.ociManifest : mediaTypes.ociIndex)
  )
}

/**
 * Reads a manifest or index and keeps its bytes.
 * @throws SrcipError CheckFailed when the bytes do not hash to `options.digest`; Precondition when the document is not
 *   one that can be copied byte for byte (schema 1, both kinds at once, sizes or digests out of range, too large)
 */
export function readManifest(bytes: Buffer, options: ReadOptions): Manifest {
  const {name} = options
  if (bytes.length > limits.manifest)
    bad(name, `is larger than ${limits.manifest} bytes, which no registry has to take`)
  const algorithm = options.digest?.startsWith('sha512:') === true ? 'sha512' : 'sha256'
  const digest = digestOf(bytes, algorithm)
  if (options.digest !== undefined && digest !== options.digest) {
    throw new SrcipError('CheckFailed', `${name}: asked for ${options.digest}, the content hashes to ${digest}`)
  }
  let document: unknown
  try {
    document = JSON.parse(bytes.toString('utf8'))
  } catch {
    bad(name, 'is not JSON')
  }
  if (!isObject(document)) bad(name, 'is not a JSON object')
  refuseAmbiguity(document, name)
  const warnings: string[] = []
  const mediaType = chooseType(document, options, warnings)
  if (isSchema1(mediaType) || document['schemaVersion'] === 1) {
    bad(name, 'is a schema 1 manifest: its digest leaves out the signature inside it, so it cannot be copied by digest')
  }
  const index = document['manifests'] !== undefined || isIndexType(mediaType)
  if (index && isManifestType(mediaType)) bad(name, `lists manifests but is called ${mediaType}`)
  if (!index && !isManifestType(mediaType))
    bad(name, `has the media type ${cleanText(mediaType)}, which is neither a manifest nor an index`)
  const children = index ? readList(document['manifests'], 'manifests', name) : []
  const config =
    index || document['config'] === undefined ? undefined : readDescriptor(document['config'], 'config', name)
  const layers = index ? [] : readList(document['layers'], 'layers', name)
  const subject = isObject(document['subject']) ? readDescriptor(document['subject'], 'subject', name) : undefined
  const configType = config?.mediaType
  const artifactType = typeof document['artifactType'] === 'string' ? document['artifactType'] : undefined
  return {
    kind: index ? 'index' : 'manifest',
    mediaType,
    digest,
    bytes,
    children: unique(children, name),
    blobs: unique(config === undefined ? layers : [config, ...layers], name),
    ...(configType === undefined ? {} : {configType}),
    ...(subject === undefined ? {} : {subject}),
    ...(artifactType === undefined ? {} : {artifactType}),
    annotations: readStrings(document['annotations']),
    warnings,
  }
}

/** `linux/arm64/v8`, or the version of Windows after a colon. */
export function formatPlatform(platform: Platform): string {
  const variant = platform.variant === undefined ? '' : `/${platform.variant}`
  const version = platform.osVersion === undefined ? '' : `:${platform.osVersion}`
  return `${platform.os}/${platform.architecture}${variant}${version}`
}

/** Does an entry's platform satisfy `os/arch[/variant][:version]`? A wish without variant takes every variant. */
export function platformMatches(platform: Platform, wish: string): boolean {
  const [place = '', version] = wish.split(':', 2)
  const [os, architecture, variant] = place.split('/')
  return (
    platform.os === os &&
    platform.architecture === architecture &&
    (variant === undefined || (platform.variant ?? defaultVariant(platform.architecture)) === variant) &&
    (version === undefined || platform.osVersion === version || platform.osVersion?.startsWith(`${version}.`) === true)
  )
}

/** arm64 without a variant means v8 (containerd's platform rules). */
function defaultVariant(architecture: string): string | undefined {
  return architecture === 'arm64' ? 'v8' : architecture === 'arm' ? 'v7' : undefined
}

/** The digest that an attestation entry of buildkit speaks about, or undefined for every other entry. */
export function attestedDigest(entry: Descriptor): string | undefined {
  if (entry.annotations?.['vnd.docker.reference.type'] !== 'attestation-manifest') return undefined
  const digest = entry.annotations['vnd.docker.reference.digest']
  return digest !== undefined && isDigest(digest) ? digest : undefined
}

/** Is this entry an attestation (buildkit's `unknown/unknown`) and no platform that could run? */
export function isAttestationEntry(entry: Descriptor): boolean {
  if (entry.annotations?.['vnd.docker.reference.type'] === 'attestation-manifest') return true
  return entry.platform?.os === 'unknown' && entry.platform.architecture === 'unknown'
}
