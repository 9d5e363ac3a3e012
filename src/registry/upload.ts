import type {Writable} from 'node:stream'
import {SrcipError} from '../model/errors.ts'
import {header} from './client.ts'
import {parseDigest} from './digest.ts'
import type {Sink} from './download.ts'
import {RegistryError} from './errors.ts'
import {backoff, isRetryFault, isRetryStatus} from './http/retry.ts'
import {NetworkFault} from './http/network-fault.ts'
import {limits} from './limits.ts'
import type {Descriptor} from './manifest.ts'
import {priorities, type Repository} from './repository.ts'
import {sendChunks} from './upload-chunks.ts'
import {commitTimeout, type Session, uploadLocation, withDigest} from './upload-session.ts'

/**
 * Content of a blob: in memory, or from a source that can be opened again for another try. The source verifies it. `prepare`
 * runs before an upload is opened, so that the target does not wait for what takes long.
 */
export type BlobContent =
  | {readonly bytes: () => Promise<Buffer>}
  | {readonly produce: (sink: Sink) => Promise<void>; readonly prepare?: () => Promise<void>}

export interface UploadOptions {
  /** Repository of the same registry that is known to hold the blob. */
  readonly mountFrom?: string | undefined
  readonly onRetry?: (reason: string) => void
}

/**
 * Puts a blob into a repository: mount, or upload in the form that this registry takes. Starts over from the beginning after
 * a fault, since a cut upload session is dead on most registries.
 * @returns how it got there
 * @throws SrcipError; what the source throws passes through, and nothing was committed then
 */
export async function uploadBlob(
  target: Repository,
  descriptor: Descriptor,
  content: BlobContent,
  options: UploadOptions = {},
): Promise<'mounted' | 'uploaded'> {
  let mountFrom = options.mountFrom
  let damaged = 0
  for (let attempt = 0; ; attempt++) {
    let session: Session | undefined
    try {
      if ('produce' in content && mountFrom === undefined) await content.prepare?.()
      const starting = startUpload(target, descriptor, mountFrom)
      if ('bytes' in content && mountFrom === undefined) {
        const [opened, bytes] = await bothOrCancel(target, starting, content.bytes())
        session = opened
        if (session === undefined) return 'mounted'
        await sendBytes(target, descriptor, session, bytes)
      } else {
        session = await starting
        if (session === undefined) return 'mounted'
        if ('bytes' in content) await sendBytes(target, descriptor, session, await content.bytes())
        else await sendProduced(target, descriptor, session, content.produce)
      }
      return 'uploaded'
    } catch (error) {
      if (session !== undefined) cancelUpload(target, session)
      mountFrom = undefined
      const reason = retryReason(error, target)
      if (reason === undefined) throw explainUpload(error, target)
      if (reason === 'damaged' && ++damaged > 1) throw error
      if (attempt + 1 >= target.client.retries.attempts) {
        throw error instanceof SrcipError
          ? error
          : new SrcipError('Unreachable', `blob ${target.nameOf(descriptor.digest)}: ${(error as Error).message}`, {
              cause: error,
              hints: ['run the same command again: it goes on where it stopped'],
            })
      }
      options.onRetry?.((error as Error).message)
      if (reason !== 'form') await target.client.sleep(backoff(target.client.retries, attempt, Math.random))
      // The answer may have been lost after the commit.
      if ((reason === 'network' || reason === 'session') && (await target.hasBlob(descriptor))) return 'uploaded'
    }
  }
}

async function bothOrCancel(
  target: Repository,
  starting: Promise<Session | undefined>,
  reading: Promise<Buffer>,
): Promise<[Session | undefined, Buffer]> {
  const [session, bytes] = await Promise.allSettled([starting, reading])
  if (session.status === 'rejected') throw session.reason
  if (bytes.status === 'rejected') {
    if (session.value !== undefined) cancelUpload(target, session.value)
    throw bytes.reason
  }
  return [session.value, bytes.value]
}

type RetryReason = 'network' | 'session' | 'damaged' | 'form'

/** Is another try of the whole upload sensible? May switch the registry to its next upload form. */
function retryReason(error: unknown, target: Repository): RetryReason | undefined {
  if (isRetryFault(error)) return 'network'
  if (!(error instanceof RegistryError)) return undefined
  if (isRetryStatus(error.status)) return 'network'
  if (error.codes.includes('BLOB_UPLOAD_UNKNOWN') || error.codes.includes('BLOB_UPLOAD_INVALID')) return 'session'
  const wrongForm =
    error.status === 413 ||
    error.status === 405 ||
    error.status === 501 ||
    error.status === 411 ||
    (error.status === 404 && error.codes.length === 0)
  if (wrongForm && target.state.uploadForm !== 'chunks' && error.message.startsWith('upload')) {
    target.state.uploadForm = target.state.uploadForm === 'put' ? 'patch' : 'chunks'
    return 'form'
  }
  if (error.status !== 413 && (error.codes.includes('DIGEST_INVALID') || error.codes.includes('SIZE_INVALID')))
    return 'damaged'
  return undefined
}

function explainUpload(error: unknown, target: Repository): unknown {
  if (!(error instanceof RegistryError)) return error
  if (error.status === 403)
    return new RegistryError(
      403,
      error.codes,
      error.detail,
      `no right to push to ${target.fullName}: ${error.message}`,
      'Denied',
      error.hints,
    )
  if (error.status === 405 || error.codes.includes('UNSUPPORTED')) {
    return new RegistryError(
      error.status,
      error.codes,
      error.detail,
      `${target.fullName} takes no uploads: ${error.message}`,
      'Precondition',
      ['a pull-through cache or a read-only registry cannot be a target'],
    )
  }
  if (error.codes.includes('NAME_UNKNOWN')) {
    return new RegistryError(error.status, error.codes, error.detail, error.message, 'Precondition', [
      `this registry wants the repository or project to exist first: create ${target.name}`,
    ])
  }
  return error
}

/** Opens a session, or mounts. @returns undefined when the blob is there already by mount */
async function startUpload(
  target: Repository,
  descriptor: Descriptor,
  mountFrom: string | undefined,
): Promise<Session | undefined> {
  const parts: string[] = []
  if (mountFrom !== undefined)
    parts.push(`mount=${encodeURIComponent(descriptor.digest)}`, `from=${encodeURIComponent(mountFrom)}`)
  const {algorithm} = parseDigest(descriptor.digest)
  if (algorithm !== 'sha256') parts.push(`digest-algorithm=${algorithm}`)
  const answer = await target.call({
    method: 'POST',
    address: target.path(`blobs/uploads/${parts.length === 0 ? '' : `?${parts.join('&')}`}`),
    expect: mountFrom === undefined ? [202] : [201, 202],
    read: limits.errorBody,
    what: `blob ${target.nameOf(descriptor.digest)}`,
    priority: priorities.upload,
    ...(mountFrom === undefined ? {} : {from: mountFrom}),
  })
  if (answer.status === 201) return undefined
  const chunkMin = Number(header(answer, 'oci-chunk-min-length') ?? 0)
  if (!Number.isSafeInteger(chunkMin) || chunkMin < 0 || chunkMin > limits.chunk) {
    throw new SrcipError(
      'Precondition',
      `${target.fullName} asks for chunks of ${header(answer, 'oci-chunk-min-length')} bytes, more than ${limits.chunk}`,
    )
  }
  return {location: uploadLocation(target, answer), chunkMin}
}

/** Cancelling is a courtesy; registries clean up abandoned sessions themselves. */
function cancelUpload(target: Repository, session: Session): void {
  if (session.location.origin !== target.state.origin) return
  target
    .call({
      method: 'DELETE',
      address: session.location,
      expect: [200, 202, 204, 404],
      read: limits.errorBody,
      what: 'upload',
      retry: false,
    })
    .catch(() => {})
}

async function sendBytes(target: Repository, descriptor: Descriptor, session: Session, bytes: Buffer): Promise<void> {
  const form = target.state.uploadForm
  if (form === 'chunks') return sendProduced(target, descriptor, session, async (sink) => sink(bytes))
  if (form === 'patch') await patch(target, descriptor, session, bytes)
  await commit(target, descriptor, session, form === 'patch' ? Buffer.alloc(0) : bytes)
}

async function sendProduced(
  target: Repository,
  descriptor: Descriptor,
  session: Session,
  produce: (sink: Sink) => Promise<void>,
): Promise<void> {
  const form = target.state.uploadForm
  if (form === 'chunks') {
    await sendChunks(target, descriptor, session, produce)
    return commit(target, descriptor, session, Buffer.alloc(0))
  }
  const body = {length: descriptor.size, write: (to: Writable) => produce(sinkInto(to, target.client.stallTimeout))}
  if (form === 'patch') await patch(target, descriptor, session, body)
  await commit(target, descriptor, session, form === 'patch' ? Buffer.alloc(0) : body)
}

/** Writes into a request; each write is waited for, since its bytes are overwritten afterwards, but not for ever. */
function sinkInto(to: Writable, stallTimeout: number): Sink {
  let fail: ((error: Error) => void) | undefined
  to.once('close', () => fail?.(new NetworkFault('ECONNRESET', 'the target closed the connection')))
  return (chunk) =>
    new Promise((resolve, reject) => {
      if (to.destroyed) {
        reject(new NetworkFault('ECONNRESET', 'the target closed the connection'))
        return
      }
      const timer = setTimeout(
        () => reject(new NetworkFault('STALL', `the target took no byte for ${stallTimeout / 1000} s`)),
        stallTimeout,
      )
      fail = (error) => {
        clearTimeout(timer)
        reject(error)
      }
      to.write(chunk, (error) => {
        clearTimeout(timer)
        if (error === null || error === undefined) resolve()
        else
          reject(
            new NetworkFault(
              (error as NodeJS.ErrnoException).code ?? 'ECONNRESET',
              `the target: ${error.message}`,
              error,
            ),
          )
      })
    })
}

async function patch(
  target: Repository,
  descriptor: Descriptor,
  session: Session,
  body: Buffer | {length: number; write: (to: Writable) => Promise<void>},
): Promise<void> {
  const answer = await target.call({
    method: 'PATCH',
    address: session.location,
    headers: {'content-type': 'application/octet-stream'},
    body,
    expect: [201, 202, 204],
    read: limits.errorBody,
    what: `upload ${target.nameOf(descriptor.digest)}`,
    priority: priorities.upload,
    retry: false,
    headerTimeout: commitTimeout,
  })
  session.location = uploadLocation(target, answer)
}

async function commit(
  target: Repository,
  descriptor: Descriptor,
  session: Session,
  body: Buffer | {length: number; write: (to: Writable) => Promise<void>},
): Promise<void> {
  await target.call({
    method: 'PUT',
    address: withDigest(session.location, descriptor.digest),
    headers: {'content-type': 'application/octet-stream'},
    body,
    expect: [200, 201, 202, 204],
    read: limits.errorBody,
    what: `upload ${target.nameOf(descriptor.digest)}`,
    priority: priorities.upload,
    retry: false,
    headerTimeout: commitTimeout,
  })
}
