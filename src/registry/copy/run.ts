import type {RegistryClient} from '../client.ts'
import {type Sink, verified} from '../download.ts'
import {Garbage} from '../garbage.ts'
import {Gate} from '../http/gate.ts'
import type {Descriptor} from '../manifest.ts'
import type {Repository} from '../repository.ts'
import type {Spool, SpooledBlob, SpoolMode} from '../spool.ts'
import {type BlobContent, uploadBlob} from '../upload.ts'
import type {CopyEventSink} from '../../model/mirror-events.ts'
import type {ContentSource} from './source.ts'

/** Blobs up to this size travel as one buffer: fewer turns of the event loop, and another try needs no second download. */
const smallBlob = 1024 * 1024
/** Small blobs in memory at once (at most 12 MiB), and large blobs in flight at once. */
const smallLane = 12
const largeLane = 4
/** Bytes between two progress events of one blob. */
const progressStep = 4 * 1024 * 1024

export interface RunOptions {
  /** Only asks, never writes. */
  readonly dryRun?: boolean
  /** When large blobs go over the disk, and where; `auto` in the folder for temporary files by default. */
  readonly spool?: SpoolMode | undefined
  readonly spoolFolder?: string | undefined
}

export type BlobOutcome = 'exists' | 'mounted' | 'uploaded'

export interface CopyCounts {
  bytesMoved: number
  bytesPresent: number
  blobsMoved: number
  blobsPresent: number
  blobsMounted: number
}

/**
 * State shared by everything that one command copies: what each target is known to hold, what is in flight, and the lanes.
 * There is no journal: what a target holds is asked of the target.
 */
export class CopyRun {
  readonly client: RegistryClient
  readonly emit: CopyEventSink
  readonly counts: CopyCounts = {bytesMoved: 0, bytesPresent: 0, blobsMoved: 0, blobsPresent: 0, blobsMounted: 0}
  readonly dryRun: boolean
  readonly #small = new Gate(smallLane)
  readonly #large = new Gate(largeLane)
  /** `host digest` to repositories known to hold it. */
  readonly #holders = new Map<string, string[]>()
  /** `host digest` to the first transfer of it in this run. */
  readonly #pending = new Map<string, Promise<BlobOutcome>>()
  /** `host/repository digest` to the transfer that answers for it. */
  readonly #transfers = new Map<string, Promise<BlobOutcome>>()

  readonly #options: RunOptions
  readonly #garbage = new Garbage()
  #spool: Promise<Spool> | undefined

  constructor(client: RegistryClient, emit: CopyEventSink, options: RunOptions = {}) {
    this.client = client
    this.emit = emit
    this.dryRun = options.dryRun === true
    this.#options = options
  }

  /** The files that large blobs go through, where they do. */
  spool(): Promise<Spool> {
    this.#spool ??= import('../spool.ts').then(
      ({Spool: Files}) => new Files(this.#options.spool, this.#options.spoolFolder),
    )
    return this.#spool
  }

  /** Removes what was put on the disk on the way. */
  async close(): Promise<void> {
    await (await this.#spool)?.close()
  }

  /**
   * Makes sure that a repository holds a blob: asks, mounts, or copies. Concurrent wishes for the same blob share one transfer.
   * @param stopped throws when the item that asks has failed meanwhile
   */
  ensureBlob(target: Repository, source: ContentSource, blob: Descriptor, stopped: () => void): Promise<BlobOutcome> {
    const key = `${target.fullName} ${blob.digest}`
    const known = this.#transfers.get(key)
    if (known !== undefined) return known
    const transfer = this.#place(target, source, blob, stopped)
    this.#transfers.set(key, transfer)
    // A failed transfer is no answer for the next one who asks.
    transfer.catch(() => this.#transfers.delete(key))
    return transfer
  }

  /** Forgets what was believed of a repository: it has claimed blobs that it does not have. */
  forget(target: Repository, digests: Iterable<string>): void {
    for (const digest of digests) {
      this.#transfers.delete(`${target.fullName} ${digest}`)
      const key = `${target.host} ${digest}`
      this.#holders.set(
        key,
        (this.#holders.get(key) ?? []).filter((name) => name !== target.name),
      )
    }
  }

  /** Uploads a blob whatever the target says it holds. */
  async forceBlob(target: Repository, source: ContentSource, blob: Descriptor): Promise<void> {
    await this.#transfer(target, source, blob, undefined)
  }

  async #place(target: Repository, source: ContentSource, blob: Descriptor, stopped: () => void): Promise<BlobOutcome> {
    stopped()
    if (await target.hasBlob(blob)) {
      this.#noteHolder(target, blob.digest)
      this.counts.blobsPresent++
      this.counts.bytesPresent += blob.size
      this.emit({
        type: 'blob.skip',
        digest: blob.digest,
        repository: target.fullName,
        size: blob.size,
        reason: 'exists',
      })
      return 'exists'
    }
    stopped()
    if (this.dryRun) {
      this.counts.blobsMoved++
      this.counts.bytesMoved += blob.size
      return 'uploaded'
    }
    // Another repository of this host is getting the same blob: wait for that one, then mount from it.
    const key = `${target.host} ${blob.digest}`
    const pending = this.#pending.get(key)
    if (pending !== undefined) await pending.catch(() => {})
    const work = this.#laned(target, source, blob, stopped)
    if (pending === undefined) this.#pending.set(key, work)
    return work
  }

  async #laned(target: Repository, source: ContentSource, blob: Descriptor, stopped: () => void): Promise<BlobOutcome> {
    const lane = blob.size <= smallBlob ? this.#small : this.#large
    // Largest first: a big layer that starts last would be waited for alone.
    const waiting = lane.enter(-blob.size)
    if (waiting !== undefined) await waiting
    try {
      stopped()
      return await this.#transfer(target, source, blob, this.#mountSource(target, source, blob.digest))
    } finally {
      lane.leave()
    }
  }

  #mountSource(target: Repository, source: ContentSource, digest: string): string | undefined {
    const holders = this.#holders.get(`${target.host} ${digest}`) ?? []
    const other = holders.find((name) => name !== target.name)
    if (other !== undefined) return other
    const {registry} = source
    return registry !== undefined && registry.state === target.state && registry.repository !== target.name
      ? registry.repository
      : undefined
  }

  async #transfer(
    target: Repository,
    source: ContentSource,
    blob: Descriptor,
    mountFrom: string | undefined,
  ): Promise<BlobOutcome> {
    const started = performance.now()
    const where = {digest: blob.digest, repository: target.fullName}
    this.emit({type: 'blob.start', ...where, size: blob.size})
    const onRetry = (reason: string): void => this.emit({type: 'blob.retry', ...where, reason})
    const large = blob.size > smallBlob ? await this.#largeBlob(source, blob, onRetry) : undefined
    const content: BlobContent = large ?? {bytes: () => source.readBlob(blob)}
    const outcome = await uploadBlob(target, blob, content, {mountFrom, onRetry}).finally(() => large?.close())
    this.#noteHolder(target, blob.digest)
    if (outcome === 'mounted') {
      this.counts.blobsMounted++
      this.counts.bytesPresent += blob.size
      this.emit({type: 'blob.skip', ...where, size: blob.size, reason: 'mounted'})
    } else {
      this.counts.blobsMoved++
      this.counts.bytesMoved += blob.size
      if (large === undefined) this.#garbage.count(blob.size)
      this.emit({type: 'blob.done', ...where, size: blob.size, ms: Math.round(performance.now() - started)})
    }
    return outcome
  }

  /** A blob that streams from its source into the upload, or over the disk: by choice, or once a try has broken. */
  async #largeBlob(
    source: ContentSource,
    blob: Descriptor,
    onRetry: (reason: string) => void,
  ): Promise<{produce: (sink: Sink) => Promise<void>; prepare: () => Promise<void>; close: () => Promise<void>}> {
    const spool = await this.spool()
    let spooled: SpooledBlob | undefined
    let attempt = 0
    const fromSource = (into: Sink): Promise<void> => source.streamBlob(blob, into, onRetry)
    return {
      async prepare() {
        if (spooled === undefined && source.registry !== undefined && spool.wants(attempt + 1))
          spooled = await spool.fill(blob, fromSource)
      },
      produce: async (sink) => {
        attempt++
        const held = spooled
        const from = held === undefined ? fromSource : (into: Sink): Promise<void> => held.stream(into)
        await verified(blob, from, held === undefined ? spool.watch(sink) : sink, this.#progressOf(blob))
      },
      close: async () => spooled?.close(),
    }
  }

  #progressOf(blob: Descriptor): (bytes: number) => void {
    let done = 0
    let shown = 0
    return (bytes) => {
      done += bytes
      if (done - shown < progressStep) return
      shown = done
      this.emit({type: 'blob.progress', digest: blob.digest, done, size: blob.size})
    }
  }

  #noteHolder(target: Repository, digest: string): void {
    const key = `${target.host} ${digest}`
    const holders = this.#holders.get(key)
    if (holders === undefined) this.#holders.set(key, [target.name])
    else if (!holders.includes(target.name)) holders.push(target.name)
  }
}
