import {SrcipError} from '../model/errors.ts'
import {parseDigest} from './digest.ts'
import {isNotFound} from './errors.ts'
import {limits} from './limits.ts'
import {type Descriptor, type Manifest, readManifest} from './manifest.ts'
import {mediaTypes} from './media-types.ts'
import {readJson, type Repository} from './repository.ts'

/** The tag under which referrers are listed where the API is missing (distribution-spec, "Referrers Tag Schema"). */
export function fallbackTag(digest: string): string {
  const {algorithm, encoded} = parseDigest(digest)
  return `${algorithm.slice(0, 32)}-${encoded.slice(0, 64)}`
}

/** Tags under which cosign kept signatures, attestations and SBOMs before referrers existed. */
export const cosignSuffixes = {sig: 'signature', att: 'attestation', sbom: 'sbom'} as const

export type ExtraKind = 'signature' | 'attestation' | 'sbom' | 'referrer'

/** What an attached artifact is for, by its types. */
export function extraKind(manifest: Manifest): ExtraKind {
  const predicate = manifest.annotations['dev.sigstore.bundle.predicateType'] ?? ''
  const types = [
    manifest.artifactType ?? '',
    manifest.configType ?? '',
    ...manifest.blobs.map((blob) => blob.mediaType),
  ]
    .join(' ')
    .toLowerCase()
  if (/spdx|cyclonedx|syft/.test(`${types} ${predicate}`)) return 'sbom'
  if (
    /in-toto/.test(types) ||
    (predicate !== '' && !predicate.includes('cosign.sigstore.dev/attestation/v1') && !/sign/.test(predicate))
  )
    return 'attestation'
  if (/sigstore\.bundle|cosign|notary|simplesigning/.test(types)) return 'signature'
  return 'referrer'
}

/**
 * Lists what points at a manifest: by the API, and by the fallback tag where the API is missing or knows nothing.
 * Entries are hints only; each manifest's own `subject` decides.
 */
export async function listReferrers(repository: Repository, digest: string): Promise<Descriptor[]> {
  const found = repository.state.referrersApi === false ? undefined : await fromApi(repository, digest)
  if (found !== undefined && found.length > 0) return found
  const index = await readFallback(repository, digest)
  return index === undefined ? [] : [...index.children]
}

async function fromApi(repository: Repository, digest: string): Promise<Descriptor[] | undefined> {
  const what = `referrers of ${repository.nameOf(digest)}`
  const found: Descriptor[] = []
  const headers = {accept: mediaTypes.ociIndex}
  // Registries without the API say 404, or another refusal of an unknown path; the fallback tag answers then.
  for await (const answer of repository.pages(
    repository.path(`referrers/${digest}`),
    [200, 400, 404, 405, 501],
    what,
    headers,
  )) {
    if (answer.status !== 200) {
      // A 404 may also mean an unknown repository, but then there is no fallback tag either.
      repository.state.referrersApi ??= answer.status === 200
      return undefined
    }
    repository.state.referrersApi = true
    const document = readJson(answer.body, what)
    if ((document as {manifests?: unknown}).manifests === undefined) return undefined
    const page = readManifest(answer.body, {name: what, descriptorType: mediaTypes.ociIndex})
    found.push(...page.children)
    if (found.length > limits.descriptors)
      throw new SrcipError('Precondition', `${what}: more than ${limits.descriptors}`)
  }
  return found
}

/**
 * The index at the fallback tag, or undefined. Some registries answer that tag with the subject itself, others with whatever
 * somebody pushed there: only an index that is not the subject counts.
 */
export async function readFallback(repository: Repository, digest: string): Promise<Manifest | undefined> {
  try {
    const head = await repository.head(fallbackTag(digest))
    if (head === undefined || head.digest === digest) return undefined
    const manifest = await repository.manifest(fallbackTag(digest))
    return manifest.kind === 'index' && manifest.digest !== digest && manifest.mediaType === mediaTypes.ociIndex
      ? manifest
      : undefined
  } catch (error) {
    if (isNotFound(error) || (error instanceof SrcipError && error.code === 'Precondition')) return undefined
    throw error
  }
}

/**
 * Adds entries to the fallback index of a subject: the only document that is written rather than copied. Entries of others
 * stay, ours carry artifactType and every annotation of their manifest.
 */
export async function addToFallback(
  repository: Repository,
  subject: string,
  referrers: readonly Manifest[],
): Promise<void> {
  const current = await readFallback(repository, subject)
  const document = (current === undefined ? {} : JSON.parse(current.bytes.toString('utf8'))) as Record<string, unknown>
  const entries = Array.isArray(document['manifests']) ? [...(document['manifests'] as {digest?: unknown}[])] : []
  const held = new Set(entries.map((entry) => entry.digest))
  const missing = referrers.filter((manifest) => !held.has(manifest.digest))
  if (missing.length === 0) return
  const index = {
    ...document,
    schemaVersion: 2,
    mediaType: mediaTypes.ociIndex,
    manifests: [...entries, ...missing.map(fallbackEntry)],
  }
  const bytes = Buffer.from(JSON.stringify(index))
  const tag = fallbackTag(subject)
  await repository.putManifest(
    tag,
    readManifest(bytes, {name: repository.nameOf(tag), descriptorType: mediaTypes.ociIndex}),
  )
}

function fallbackEntry(manifest: Manifest): Record<string, unknown> {
  const artifactType = manifest.artifactType ?? manifest.configType
  return {
    mediaType: manifest.mediaType,
    digest: manifest.digest,
    size: manifest.bytes.length,
    ...(artifactType === undefined ? {} : {artifactType}),
    ...(Object.keys(manifest.annotations).length === 0 ? {} : {annotations: manifest.annotations}),
  }
}
