import {isInRanges, readRange, type AddressRange} from '../model/address-range.ts'
import {SrcipError} from '../model/errors.ts'

/** A range of addresses of trusted senders. */
export type Cidr = AddressRange

/** Reads `ADDRESS/BITS` or a single address. Throws a usage error that names the text. */
export function parseCidr(text: string): Cidr {
  const range = readRange(text)
  if (range === undefined) {
    throw new SrcipError('Usage', `--trusted-cidr ${JSON.stringify(text)} is not an address range`, {
      hints: ['write it as 10.0.0.0/8 or 2001:db8::/32'],
    })
  }
  return range
}

/** True if the address (text as sockets give it) lies in one of the ranges. Mapped IPv4 counts as IPv4. */
export function isTrusted(ranges: readonly Cidr[], address: string): boolean {
  return isInRanges(ranges, address)
}
