import {createHash, hash as hashOnce, type Hash} from 'node:crypto'
import {SrcipError} from '../model/errors.ts'
import {cleanText} from './text.ts'

/** Registered digest algorithms that this tool can compute, with the length of their hexadecimal form. */
const hexLength: Readonly<Record<string, number>> = {sha256: 64, sha512: 128}

export interface DigestParts {
  readonly algorithm: 'sha256' | 'sha512'
  readonly encoded: string
}

/** Why a text is no digest, or undefined when it is one (image-spec, descriptor.md, "Digests"). */
export function digestProblem(text: string): string | undefined {
  const match = /^([a-z0-9]+(?:[+._-][a-z0-9]+)*):([A-Za-z0-9=_-]*)$/.exec(text)
  if (match === null) return 'is not of the form algorithm:hex'
  const [, algorithm = '', encoded = ''] = match
  const length = hexLength[algorithm]
  if (length === undefined) return `uses the algorithm ${cleanText(algorithm, 20)}; sha256 and sha512 are supported`
  if (encoded.length < length) return `is too short: ${encoded.length} of ${length} hexadecimal digits`
  if (encoded.length > length) return `is too long: ${encoded.length} of ${length} hexadecimal digits`
  if (!/^[0-9a-f]+$/.test(encoded)) return 'may hold only lower-case hexadecimal digits'
  return undefined
}

export function isDigest(text: string): boolean {
  return digestProblem(text) === undefined
}

/**
 * Splits a digest. Every digest goes through here before it becomes part of an address or a path.
 * @throws SrcipError Precondition when the text is no digest
 */
export function parseDigest(text: string): DigestParts {
  const problem = digestProblem(text)
  if (problem !== undefined) throw new SrcipError('Precondition', `digest "${cleanText(text)}" ${problem}`)
  const colon = text.indexOf(':')
  return {algorithm: text.slice(0, colon) as DigestParts['algorithm'], encoded: text.slice(colon + 1)}
}

/** The digest of bytes in memory. */
export function digestOf(bytes: Uint8Array, algorithm: DigestParts['algorithm'] = 'sha256'): string {
  return `${algorithm}:${hashOnce(algorithm, bytes, 'hex')}`
}

/** Content that is not what its descriptor says: never retried as if it were a network fault. */
export class ContentMismatch extends SrcipError {
  constructor(message: string) {
    super('CheckFailed', message)
    this.name = 'ContentMismatch'
  }
}

/** Counts and hashes bytes as they pass, and compares both with a descriptor at the end. */
export class DigestCheck {
  readonly expected: string
  readonly size: number
  readonly #hash: Hash
  #count = 0

  /** @param size bytes that the descriptor announces */
  constructor(expected: string, size: number) {
    this.expected = expected
    this.size = size
    this.#hash = createHash(parseDigest(expected).algorithm)
  }

  get count(): number {
    return this.#count
  }

  /** @throws ContentMismatch as soon as more bytes arrive than announced */
  update(chunk: Uint8Array): void {
    this.#count += chunk.length
    if (this.#count > this.size) {
      throw new ContentMismatch(`${this.expected}: more bytes than the ${this.size} of its descriptor`)
    }
    this.#hash.update(chunk)
  }

  /** @throws ContentMismatch when size or digest differ; can be called once */
  finish(): void {
    if (this.#count !== this.size) {
      throw new ContentMismatch(`${this.expected}: ${this.#count} bytes instead of the ${this.size} of its descriptor`)
    }
    const [algorithm] = this.expected.split(':')
    const actual = `${algorithm}:${this.#hash.digest('hex')}`
    if (actual !== this.expected) throw new ContentMismatch(`${this.expected}: the content hashes to ${actual}`)
  }
}
