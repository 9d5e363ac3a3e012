import {parseIP, unmap} from './address.ts'

/** A range of addresses: the first `bits` bits of `bytes` (4 or 16 of them) are fixed. */
export interface AddressRange {
  readonly bytes: Uint8Array
  readonly bits: number
}

/** Reads `ADDRESS/BITS` or a single address; undefined for anything else. */
export function readRange(text: string): AddressRange | undefined {
  const [address = '', bits, ...rest] = text.split('/')
  const bytes = parseIP(address)
  const most = (bytes?.length ?? 0) * 8
  const length = bits === undefined ? most : Number(bits)
  if (!bytes || rest.length > 0 || (bits !== undefined && !/^[0-9]{1,3}$/.test(bits)) || length > most) return undefined
  return {bytes, bits: length}
}

/** True if the address (text as sockets and objects give it) lies in one of the ranges. Mapped IPv4 counts as IPv4. */
export function isInRanges(ranges: readonly AddressRange[], address: string): boolean {
  const parsed = parseIP(address)
  if (!parsed) return false
  const bytes = unmap(parsed)
  return ranges.some((range) => contains(range, bytes))
}

/** Bits of the smallest of the ranges that holds the address; undefined where none does. Mapped IPv4 counts as IPv4. */
export function longestPrefix(ranges: readonly AddressRange[], address: string): number | undefined {
  const parsed = parseIP(address)
  if (!parsed) return undefined
  const bytes = unmap(parsed)
  let longest: number | undefined
  for (const range of ranges) {
    if ((longest === undefined || range.bits > longest) && contains(range, bytes)) longest = range.bits
  }
  return longest
}

function contains({bytes: prefix, bits}: AddressRange, bytes: Uint8Array): boolean {
  if (prefix.length !== bytes.length) return false
  const whole = bits >> 3
  for (let index = 0; index < whole; index++) if (prefix[index] !== bytes[index]) return false
  const mask = (0xff00 >> (bits & 7)) & 0xff
  return mask === 0 || ((prefix[whole] ?? 0) & mask) === ((bytes[whole] ?? 0) & mask)
}
