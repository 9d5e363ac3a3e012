import {SrcipError} from '../../model/errors.ts'
import type {MirrorPlan} from '../../model/mirror.ts'
import {verifyBytes} from '../download.ts'
import {limits} from '../limits.ts'
import {type Descriptor, type Manifest, readManifest} from '../manifest.ts'
import {checkPlan} from '../plan/document.ts'
import type {Spool, SpooledBlob} from '../spool.ts'
import {type ArchivePlan, planFileName} from './content.ts'
import {PipeReader} from './pipe-reader.ts'
import {digestOfPath, refuseCompressed} from './read.ts'
import {type TarEntry, walkTar} from './tar-format.ts'

/** Bytes of manifests that are held in memory. */
const mostManifests = 64 * 1024 * 1024
/** Blobs up to this size are handed on in memory. */
export const smallEntry = 1024 * 1024

/** A blob on its way from the pipe. */
export type ArrivedBlob = {readonly bytes: Buffer} | {readonly file: SpooledBlob}

/**
 * An archive that comes through a pipe: plan and manifests first, then the blobs in the order of their digests, as `mirror
 * export` writes them. Archives of other tools may hold them in any order and need a file.
 */
export class PipedArchive {
  readonly name: string
  readonly #pipe: PipeReader
  readonly #entries: AsyncGenerator<TarEntry, void>
  readonly #manifests = new Map<string, Manifest>()
  /** Small entries read before it was known whether they are manifests. */
  readonly #held = new Map<string, Buffer>()
  #next: TarEntry | undefined
  #plan: ArchivePlan | undefined

  constructor(input: AsyncIterable<Uint8Array>, name = 'stdin') {
    this.name = name
    this.#pipe = new PipeReader(input)
    this.#entries = walkTar(name, (offset, length) => this.#read(offset, length), Number.POSITIVE_INFINITY)
  }

  /** The plan; set once `readManifests` is through. */
  get plan(): MirrorPlan {
    if (this.#plan === undefined) throw new SrcipError('Internal', 'the plan of a piped archive was not read')
    return this.#plan.plan
  }

  /** Name of the archive that has to be imported before this one. */
  get base(): string | undefined {
    return this.#plan?.base?.name
  }

  manifest(digest: string): Manifest | undefined {
    return this.#manifests.get(digest)
  }

  /** Reads up to the first blob. @throws SrcipError Precondition when the plan or manifests do not come first */
  async readManifests(): Promise<void> {
    const open = new Set<string>()
    let size = 0
    for (let step = await this.#entries.next(); step.done !== true; step = await this.#entries.next()) {
      const entry = step.value
      if (entry.name === planFileName) {
        this.#plan = await this.#readPlan(entry)
        for (const item of this.plan.items) for (const {digest} of [item, ...item.extras]) open.add(digest)
      }
      const digest = entry.folder ? undefined : digestOfPath(entry.name)
      if (digest === undefined) continue
      if (this.#plan === undefined) throw this.#wrongOrder(`the plan (${planFileName})`)
      if (open.size === 0 || this.#isBlob(digest)) {
        this.#next = entry
        return
      }
      size += entry.size
      if (entry.size > limits.manifestRead || size > mostManifests) throw this.#wrongOrder('every manifest')
      this.#held.set(digest, await this.#whole(entry))
      this.#resolve(open)
    }
    if (this.#plan === undefined) throw this.#wrongOrder(`a plan (${planFileName})`)
  }

  /**
   * Gives every wanted blob in the order of arrival. The next is read while the work for the last goes on.
   * @param wanted the descriptor of a digest that somebody needs, or undefined to skip it
   */
  async eachBlob(
    wanted: (digest: string) => Promise<Descriptor | undefined>,
    spool: () => Promise<Spool>,
    take: (blob: Descriptor, arrived: ArrivedBlob) => Promise<void>,
  ): Promise<void> {
    for (const [digest, bytes] of this.#held) {
      const blob = this.#manifests.has(digest) ? undefined : await wanted(digest)
      if (blob === undefined) continue
      verifyBytes(bytes, blob, `${this.name}: blob`)
      await take(blob, {bytes})
    }
    this.#held.clear()
    for (;;) {
      const entry = this.#next ?? (await this.#entries.next()).value ?? undefined
      this.#next = undefined
      if (entry === undefined) return
      const digest = entry.folder ? undefined : digestOfPath(entry.name)
      const blob = digest === undefined ? undefined : await wanted(digest)
      if (blob !== undefined) await take(blob, await this.#arrive(entry, blob, spool))
    }
  }

  async #arrive(entry: TarEntry, blob: Descriptor, spool: () => Promise<Spool>): Promise<ArrivedBlob> {
    if (entry.size <= smallEntry) {
      const bytes = await this.#whole(entry)
      verifyBytes(bytes, blob, `${this.name}: blob`)
      return {bytes}
    }
    const files = await spool()
    return {
      file: await files.fill(blob, async (sink) => {
        if ((await this.#pipe.pump(entry.offset, entry.size, sink)) < entry.size) throw this.#truncated(entry)
      }),
    }
  }

  async #read(offset: number, length: number): Promise<Buffer> {
    const bytes = await this.#pipe.read(offset, length)
    if (offset === 0) refuseCompressed(this.name, bytes)
    return bytes
  }

  async #whole(entry: TarEntry): Promise<Buffer> {
    const bytes = await this.#pipe.read(entry.offset, entry.size)
    if (bytes.length < entry.size) throw this.#truncated(entry)
    return bytes
  }

  async #readPlan(entry: TarEntry): Promise<ArchivePlan> {
    if (entry.size > limits.layoutIndex)
      throw new SrcipError(
        'Precondition',
        `${this.name}: ${entry.name} has ${entry.size} bytes, more than ${limits.layoutIndex}`,
      )
    let own: Record<string, unknown>
    try {
      own = JSON.parse((await this.#whole(entry)).toString('utf8')) as Record<string, unknown>
    } catch (error) {
      throw error instanceof SrcipError
        ? error
        : new SrcipError('Precondition', `${this.name}: ${entry.name} is not a JSON document`, {cause: error})
    }
    const base = own['base'] as ArchivePlan['base']
    return {plan: await checkPlan(own['plan'], `${this.name}: ${planFileName}`), ...(base === undefined ? {} : {base})}
  }

  /** Reads held entries as manifests as far as they are pointed at. */
  #resolve(open: Set<string>): void {
    for (const digest of open) {
      const bytes = this.#held.get(digest)
      if (bytes === undefined) continue
      open.delete(digest)
      const manifest = readManifest(bytes, {name: `${this.name}: ${digest}`, digest})
      this.#manifests.set(digest, manifest)
      // A Set is walked to its end also where that moves while it is walked.
      for (const child of manifest.children) if (!this.#manifests.has(child.digest)) open.add(child.digest)
    }
  }

  #isBlob(digest: string): boolean {
    return [...this.#manifests.values()].some((manifest) => manifest.blobs.some((blob) => blob.digest === digest))
  }

  #truncated(entry: TarEntry): SrcipError {
    return new SrcipError('Precondition', `${this.name}: it ends inside ${entry.name} (truncated?): refused`, {
      object: this.name,
    })
  }

  #wrongOrder(what: string): SrcipError {
    return new SrcipError('Precondition', `${this.name}: ${what} does not come before the blobs`, {
      object: this.name,
      hints: ['a pipe takes archives of mirror export only: import this one from a file'],
    })
  }
}
