import type {IncomingMessage} from 'node:http'
import {SrcipError} from '../model/errors.ts'
import {header} from './client.ts'
import {ContentMismatch, DigestCheck, digestOf, parseDigest} from './digest.ts'
import {refusedBy, RegistryError} from './errors.ts'
import type {BulkSink} from './http/bulk-read.ts'
import {isRetryFault} from './http/retry.ts'
import {NetworkFault} from './http/network-fault.ts'
import type {Descriptor} from './manifest.ts'
import {priorities, refuseEncoding, type Repository} from './repository.ts'

/**
 * Takes the bytes of a blob in order. A promise means: no more before it settles. The memory of a chunk is used again
 * afterwards, so a sink that keeps bytes copies them.
 */
export type Sink = BulkSink

/** Bytes of progress after which the count of breaks starts over: a flaky line still finishes. */
const progressThatCounts = 1024 * 1024
const mostBreaks = 6
/** Blobs from this size on are worth a connection of their own where that is possible. */
const bulkFrom = 4 * 1024 * 1024

/** A small blob as one buffer, verified. */
export async function readBlob(repository: Repository, descriptor: Descriptor): Promise<Buffer> {
  for (let attempt = 0; ; attempt++) {
    const what = `blob ${repository.nameOf(descriptor.digest)}`
    try {
      const answer = await repository.call({
        method: 'GET',
        address: repository.path(`blobs/${descriptor.digest}`),
        headers: {'accept-encoding': 'identity'},
        expect: [200],
        read: descriptor.size + 1,
        what,
        priority: priorities.download,
      })
      refuseEncoding(answer, what)
      verifyBytes(answer.body, descriptor, what)
      return answer.body
    } catch (error) {
      if (attempt > 0 || !(error instanceof RegistryError && error.status === 403)) throw error
    }
  }
}

/** @throws ContentMismatch naming the blob */
export function verifyBytes(bytes: Buffer, descriptor: Descriptor, what: string): void {
  if (bytes.length !== descriptor.size) {
    throw new ContentMismatch(
      `${what}: ${descriptor.digest}: ${bytes.length} bytes or more instead of the ${descriptor.size} of its descriptor`,
    )
  }
  const actual = digestOf(bytes, parseDigest(descriptor.digest).algorithm)
  if (actual !== descriptor.digest)
    throw new ContentMismatch(`${what}: ${descriptor.digest}: the content hashes to ${actual}`)
}

/**
 * Sends a blob's bytes to a sink and resumes by Range after a break. Every byte is delivered once and in order, unverified:
 * the caller hashes what passes (`verified`), also over the seams.
 * @throws RegistryError, NetworkFault after too many breaks without progress, or what the sink throws
 */
export async function downloadBlob(
  repository: Repository,
  descriptor: Descriptor,
  sink: Sink,
  onResume?: (reason: string) => void,
): Promise<void> {
  let received = 0
  let mark = 0
  let breaks = 0
  // A receiver that fails is no break of the download: reading on would only be thrown away.
  let receiverFailed = false
  const deliver: Sink = (chunk) =>
    sink(chunk)?.catch((error: unknown) => {
      receiverFailed = true
      throw error
    })
  while (received < descriptor.size || descriptor.size === 0) {
    try {
      const count: Sink = (chunk) => {
        received += chunk.length
        return deliver(chunk)
      }
      if (descriptor.size >= bulkFrom && (await repository.readBulk(descriptor, received, count))) return
      const {response, skip} = await openAt(repository, descriptor, received)
      let toSkip = skip
      await pump(
        response,
        (chunk) => {
          let rest = chunk
          if (toSkip > 0) {
            rest = chunk.subarray(toSkip)
            toSkip -= chunk.length - rest.length
            if (rest.length === 0) return undefined
          }
          received += rest.length
          if (received > descriptor.size)
            throw new ContentMismatch(
              `blob ${repository.nameOf(descriptor.digest)}: more bytes than the ${descriptor.size} of its descriptor`,
            )
          return deliver(rest)
        },
        repository.client.stallTimeout,
      )
      if (descriptor.size === 0) return
      if (received < descriptor.size)
        throw new NetworkFault(
          'ECONNRESET',
          `blob ${repository.nameOf(descriptor.digest)} ended after ${received} of ${descriptor.size} bytes`,
        )
    } catch (error) {
      if (receiverFailed || !isRetryFault(error)) throw error
      breaks = received - mark >= progressThatCounts ? 1 : breaks + 1
      mark = received
      if (breaks >= mostBreaks)
        throw new SrcipError(
          'Unreachable',
          `blob ${repository.nameOf(descriptor.digest)}: ${error.message}, ${breaks} times without progress`,
          {cause: error, hints: ['run the same command again: it goes on where it stopped']},
        )
      onResume?.(error.message)
      if (breaks > 1) await repository.client.sleep(100 * 2 ** breaks)
    }
  }
}

/** Opens the registry's address (never an old storage address) at an offset. */
async function openAt(
  repository: Repository,
  descriptor: Descriptor,
  offset: number,
): Promise<{response: IncomingMessage; skip: number}> {
  const what = `blob ${repository.nameOf(descriptor.digest)}`
  const answer = await repository.call({
    method: 'GET',
    address: repository.path(`blobs/${descriptor.digest}`),
    headers: {'accept-encoding': 'identity', ...(offset === 0 ? {} : {range: `bytes=${offset}-`})},
    expect: offset === 0 ? [200] : [200, 206, 416],
    read: 'stream',
    what,
    priority: priorities.download,
  })
  const response = answer.stream as IncomingMessage
  refuseEncoding(answer, what)
  if (answer.status === 206) {
    const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(header(answer, 'content-range') ?? '')
    const right =
      range !== null &&
      Number(range[1]) === offset &&
      Number(range[2]) === descriptor.size - 1 &&
      (range[3] === '*' || Number(range[3]) === descriptor.size)
    if (right) return {response, skip: 0}
    response.destroy()
    throw new ContentMismatch(`${what}: asked for bytes from ${offset} of ${descriptor.size}, offered another range`)
  }
  if (answer.status === 416) {
    response.destroy()
    throw refusedBy(repository.host, what, 416, 'the rest of the blob is refused')
  }
  const announced = header(answer, 'content-length')
  if (announced !== undefined && Number(announced) !== descriptor.size) {
    response.destroy()
    throw new ContentMismatch(
      `${what}: ${repository.host} announces ${announced} bytes, the descriptor ${descriptor.size}`,
    )
  }
  return {response, skip: offset}
}

/** Moves a response's bytes into a sink; gives up after so long without a byte, unless the sink is the slow side. */
function pump(response: IncomingMessage, sink: Sink, stallTimeout: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let waitingForSink = false
    let last = Date.now()
    const timer = setInterval(() => {
      if (!waitingForSink && Date.now() - last >= stallTimeout)
        fail(new NetworkFault('STALL', `no byte for ${stallTimeout / 1000} s`))
    }, 1000)
    const fail = (error: unknown): void => {
      clearInterval(timer)
      response.destroy()
      reject(error)
    }
    response.on('data', (chunk: Buffer) => {
      last = Date.now()
      let pending: Promise<void> | undefined
      try {
        pending = sink(chunk)
      } catch (error) {
        fail(error)
        return
      }
      if (pending === undefined) return
      waitingForSink = true
      response.pause()
      pending.then(() => {
        waitingForSink = false
        last = Date.now()
        response.resume()
      }, fail)
    })
    response.once('end', () => {
      clearInterval(timer)
      if (response.complete) resolve()
      else reject(new NetworkFault('ECONNRESET', 'the connection was closed early'))
    })
    response.once('error', (error: NodeJS.ErrnoException) =>
      fail(new NetworkFault(error.code ?? 'ECONNRESET', `the connection broke: ${error.code ?? error.message}`, error)),
    )
    response.once('close', () => {
      if (!response.complete) fail(new NetworkFault('ECONNRESET', 'the connection was closed early'))
    })
  })
}

/**
 * Runs a producer through a digest check. The last chunk is held back until size and digest agree, so that a receiver that
 * counts bytes (an upload with Content-Length) never gets a complete wrong blob.
 * @throws ContentMismatch
 */
export async function verified(
  descriptor: Descriptor,
  produce: (sink: Sink) => Promise<void>,
  sink: Sink,
  onBytes?: (bytes: number) => void,
): Promise<void> {
  const check = new DigestCheck(descriptor.digest, descriptor.size)
  let last: Buffer | undefined
  await produce((chunk) => {
    onBytes?.(chunk.length)
    if (check.count + chunk.length < descriptor.size) {
      // The receiver gets to work first, then the same bytes are hashed while it is busy.
      const pending = sink(chunk)
      check.update(chunk)
      return pending
    }
    check.update(chunk)
    last = last === undefined ? chunk : Buffer.concat([last, chunk])
    return undefined
  })
  check.finish()
  if (last !== undefined) await sink(last)
}
