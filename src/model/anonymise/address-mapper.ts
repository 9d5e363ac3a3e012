import {formatIP, isMapped, parseIP} from '../address.ts'

/** A keyed digest as hex text: the same for the same text, and without the key not to be guessed. */
export type Digest = (text: string) => string

/**
 * Replaces addresses by others of the same class. Two addresses that share their first N bits share them afterwards, so a
 * range holds what it held before and a subnet stays one (the idea of Crypto-PAn). What tells the class stays: the private,
 * shared, link-local and loopback prefixes whole, else the first octet (IPv6: 16 bits); the last octet (IPv6: 16 bits)
 * stays, too, so that ranges written FIRST-LAST keep their order.
 */
export class AddressMapper {
  readonly #digest: Digest
  readonly #flips = new Map<string, boolean>()

  constructor(digest: Digest) {
    this.#digest = digest
  }

  /** One address or `ADDRESS/BITS`; undefined if the text is neither. */
  map(text: string): string | undefined {
    const [address = '', length] = text.split('/')
    const bytes = parseIP(address)
    if (bytes === undefined) return undefined
    const bits = length === undefined ? bytes.length * 8 : Number(length)
    if (!(bits <= bytes.length * 8)) return undefined
    const mapped = this.#bytes(bytes)
    // A range that was written with zero host bits is written so again.
    if (isZeroFrom(bytes, bits)) clearFrom(mapped, bits)
    return `${formatIP(mapped)}${length === undefined ? '' : `/${length}`}`
  }

  #bytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
    const result = Uint8Array.from(bytes)
    if (isMapped(bytes)) {
      result.set(this.#bytes(bytes.subarray(12)), 12)
      return result
    }
    const [from, to] = bytes.length === 4 ? openBits4(bytes) : openBits6(bytes)
    let prefix = `${bytes.length}:`
    for (let bit = 0; bit < to; bit++) {
      const byte = bit >> 3
      const mask = 0x80 >> (bit & 7)
      const set = ((bytes[byte] ?? 0) & mask) !== 0
      if (bit >= from && this.#flip(prefix)) result[byte] = (result[byte] ?? 0) ^ mask
      prefix += set ? '1' : '0'
    }
    return result
  }

  #flip(prefix: string): boolean {
    let flip = this.#flips.get(prefix)
    if (flip === undefined) {
      flip = (parseInt(this.#digest(`address ${prefix}`).slice(0, 2), 16) & 1) === 1
      this.#flips.set(prefix, flip)
    }
    return flip
  }
}

/** Bits that may change, from and to (RFC 1918, 6598, 3927, 6890). */
function openBits4(bytes: Uint8Array): [number, number] {
  const [a = 0, b = 0] = bytes
  if (a === 0 || a === 127 || a >= 224 || (a === 169 && b === 254)) return [0, 0]
  if (a === 10) return [8, 24]
  if (a === 172 && b >= 16 && b < 32) return [12, 24]
  if (a === 100 && b >= 64 && b < 128) return [10, 24]
  // Beside a special block: the second octet stays, or a public address could land in it.
  return [100, 169, 172, 192, 198, 203].includes(a) ? [16, 24] : [8, 24]
}

/** RFC 4291, 4193: unspecified, loopback, multicast stay; unique local keeps 8 bits, link-local its 64, global 16. */
function openBits6(bytes: Uint8Array): [number, number] {
  const [a = 0, b = 0] = bytes
  if (a === 0 || a === 0xff) return [0, 0]
  if (a === 0xfe && (b & 0xc0) === 0x80) return [64, 112]
  return [a === 0xfc || a === 0xfd ? 8 : 16, 112]
}

function isZeroFrom(bytes: Uint8Array, bit: number): boolean {
  return bytes.every((byte, index) => (byte & hostMask(index, bit)) === 0) && bit < bytes.length * 8
}

function clearFrom(bytes: Uint8Array, bit: number): void {
  for (const [index, byte] of bytes.entries()) bytes[index] = byte & ~hostMask(index, bit)
}

/** The bits of byte `index` that lie at or behind `bit`. */
function hostMask(index: number, bit: number): number {
  const inside = Math.min(Math.max(bit - index * 8, 0), 8)
  return 0xff >> inside
}
