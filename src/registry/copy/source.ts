import {SrcipError} from '../../model/errors.ts'
import type {RegistryHost} from '../client.ts'
import {downloadBlob, readBlob, type Sink} from '../download.ts'
import type {Descriptor, Manifest} from '../manifest.ts'
import {listReferrers} from '../referrers.ts'
import type {Repository} from '../repository.ts'

/** A place to copy from: a repository of a registry, or an archive that stands for it. */
export interface ContentSource {
  /** `host/path` for messages. */
  readonly fullName: string
  /** The registry behind it, where blobs could be mounted from; absent for archives. */
  readonly registry?: {readonly state: RegistryHost; readonly repository: string}
  /** @throws RegistryError 404 or SrcipError when it is not there */
  manifest(reference: string, descriptorType?: string): Promise<Manifest>
  /** The digest that a tag names, or undefined. */
  tagDigest(tag: string): Promise<string | undefined>
  /** A small blob, verified. */
  readBlob(descriptor: Descriptor): Promise<Buffer>
  /** A blob in order, every byte once, not yet verified. */
  streamBlob(descriptor: Descriptor, sink: Sink, onResume: (reason: string) => void): Promise<void>
  /** Hints at manifests whose subject is this digest. */
  referrers(digest: string): Promise<Descriptor[]>
}

/** A repository of a registry as a source. Manifests are fetched once for each digest. */
export function registrySource(repository: Repository): ContentSource {
  const fetched = new Map<string, Promise<Manifest>>()
  return {
    fullName: repository.fullName,
    registry: {state: repository.state, repository: repository.name},
    manifest(reference, descriptorType) {
      const known = fetched.get(reference)
      if (known !== undefined) return known
      const fetching = repository.manifest(reference, descriptorType === undefined ? {} : {descriptorType})
      fetched.set(reference, fetching)
      fetching.catch(() => fetched.delete(reference))
      return fetching
    },
    tagDigest: (tag) => repository.tagDigest(tag),
    readBlob: (descriptor) => readBlob(repository, descriptor),
    streamBlob: (descriptor, sink, onResume) => downloadBlob(repository, descriptor, sink, onResume),
    referrers: (digest) => listReferrers(repository, digest),
  }
}

/**
 * Several places of the same repository (mirrors, then the origin): each question goes to the first that answers it, so a
 * mirror with holes is no worse than none.
 */
export function firstThatHas(fullName: string, sources: readonly ContentSource[]): ContentSource {
  const [first] = sources
  if (first !== undefined && sources.length === 1) return first
  const tryAll = async <T>(ask: (source: ContentSource) => Promise<T>): Promise<T> => {
    let failure: unknown
    for (const source of sources) {
      try {
        return await ask(source)
      } catch (error) {
        if (!(error instanceof SrcipError) || error.code === 'Interrupted' || error.code === 'CheckFailed') throw error
        failure ??= error
      }
    }
    throw failure ?? new SrcipError('Denied', `${fullName}: registries.conf blocks it and names no mirror`)
  }
  return {
    fullName,
    manifest: (reference, type) => tryAll((source) => source.manifest(reference, type)),
    readBlob: (descriptor) => tryAll((source) => source.readBlob(descriptor)),
    async tagDigest(tag) {
      for (const source of sources) {
        const digest = await source.tagDigest(tag)
        if (digest !== undefined) return digest
      }
      return undefined
    },
    async streamBlob(descriptor, sink, onResume) {
      let begun = false
      const started: Sink = (chunk) => {
        begun = true
        return sink(chunk)
      }
      await tryAll(async (source) => {
        // Bytes that a receiver has taken cannot be taken back: only a blob that has not begun may come from the next place.
        if (begun) throw new SrcipError('Unreachable', `${fullName}: ${descriptor.digest} broke off`)
        await source.streamBlob(descriptor, started, onResume)
      })
    },
    async referrers(digest) {
      for (const source of sources) {
        const found = await source.referrers(digest).catch(() => [])
        if (found.length > 0) return found
      }
      return []
    },
  }
}
