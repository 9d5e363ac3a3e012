import {SrcipError} from '../../model/errors.ts'
import type {ContentSource} from '../copy/source.ts'
import {verifyBytes} from '../download.ts'
import {limits} from '../limits.ts'
import {type Manifest, readManifest} from '../manifest.ts'
import type {LayoutReader} from './read.ts'

const chunkSize = 1024 * 1024

/**
 * A repository inside an archive. Content is found by digest, so one archive serves every repository in it.
 * @param tags tags of this repository, from index.json or the plan
 * @param base set for a delta: what had to be imported before
 */
export function layoutSource(
  reader: LayoutReader,
  fullName: string,
  tags: ReadonlyMap<string, string>,
  base?: string,
): ContentSource {
  const absent = (digest: string): SrcipError =>
    new SrcipError(
      'Precondition',
      `${fullName}: ${digest} is not in ${reader.path}${base === undefined ? '' : `, which is a delta: import ${base} into the same target first`}`,
      {object: digest},
    )
  const sizeOf = (digest: string): number => {
    const size = reader.blobs.get(digest)
    if (size === undefined) throw absent(digest)
    return size
  }
  return {
    fullName,
    async manifest(reference, descriptorType): Promise<Manifest> {
      const digest = tags.get(reference) ?? reference
      const size = sizeOf(digest)
      if (size > limits.manifestRead)
        throw new SrcipError('Precondition', `${fullName}: ${digest} has ${size} bytes, too many for a manifest`)
      const bytes = await reader.read(digest, 0, size)
      return readManifest(bytes, {
        name: `${fullName}@${digest}`,
        digest,
        ...(descriptorType === undefined ? {} : {descriptorType}),
      })
    },
    tagDigest: async (tag) => tags.get(tag),
    async readBlob(descriptor) {
      const size = sizeOf(descriptor.digest)
      const bytes = await reader.read(descriptor.digest, 0, Math.min(size, descriptor.size + 1))
      verifyBytes(bytes, descriptor, `${reader.path}: blob`)
      return bytes
    },
    async streamBlob(descriptor, sink) {
      const size = sizeOf(descriptor.digest)
      const buffer = Buffer.allocUnsafeSlow(Math.min(chunkSize, Math.max(size, 1)))
      for (let done = 0; done < size;) {
        const chunk = await reader.read(descriptor.digest, done, Math.min(buffer.length, size - done), buffer)
        if (chunk.length === 0) throw new SrcipError('Precondition', `${reader.path}: ${descriptor.digest} ends early`)
        done += chunk.length
        const pending = sink(chunk)
        if (pending !== undefined) await pending
      }
    },
    referrers: async () => [],
  }
}
