/**
 * IP addresses as bytes and as text, exactly as strict as a PROXY header needs: no zone identifiers, no leading zeros, no short forms of IPv4.
 * Sources: PROXY protocol specification 2.1 and 2.2 (haproxy.org), RFC 4291 2.2 (reading), RFC 5952 (writing).
 */

/** Reads a dotted quad. Returns 4 bytes, or undefined if the text is anything but four decimal numbers 0..255 without leading zeros. */
export function parseIPv4(text: string): Uint8Array | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  const bytes = new Uint8Array(4)
  for (const [index, part] of parts.entries()) {
    if (!/^(0|[1-9][0-9]{0,2})$/.test(part)) return undefined
    const value = Number(part)
    if (value > 255) return undefined
    bytes[index] = value
  }
  return bytes
}

/** Reads an IPv6 address (RFC 4291 2.2, also with a dotted quad at its end). Returns 16 bytes, or undefined; a zone identifier is refused. */
export function parseIPv6(text: string): Uint8Array | undefined {
  if (text.length > 45) return undefined
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = readGroups(halves[0] ?? '', halves.length === 1)
  const tail = halves.length === 2 ? readGroups(halves[1] ?? '', true) : []
  if (!head || !tail) return undefined
  const missing = 8 - head.length - tail.length
  // "::" stands for at least one group (RFC 5952 4.2.2 for writers; readers such as inet_pton take one as well).
  if (halves.length === 1 ? missing !== 0 : missing < 1) return undefined
  const bytes = new Uint8Array(16)
  const groups = [...head, ...Array.from({length: missing}, () => 0), ...tail]
  for (const [index, group] of groups.entries()) {
    bytes[index * 2] = group >> 8
    bytes[index * 2 + 1] = group & 0xff
  }
  return bytes
}

/** Reads colon-separated groups of hex digits; the last may be a dotted quad where `dottedEnd` says so. Empty text is no group. */
function readGroups(text: string, dottedEnd: boolean): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  const parts = text.split(':')
  for (const [index, part] of parts.entries()) {
    if (dottedEnd && index === parts.length - 1 && part.includes('.')) {
      const quad = parseIPv4(part)
      if (!quad) return undefined
      groups.push(((quad[0] ?? 0) << 8) | (quad[1] ?? 0), ((quad[2] ?? 0) << 8) | (quad[3] ?? 0))
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(parseInt(part, 16))
    else return undefined
  }
  return groups
}

/** A word without the port that some proxies and echoes write behind an address: `[2001:db8::7]:443`, `203.0.113.7:443`. */
export function withoutPort(word: string): string {
  return /^\[([^\]]+)\](?::\d{1,5})?$/.exec(word)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d{1,5}$/.exec(word)?.[1] ?? word
}

/** Reads either family: 4 or 16 bytes, or undefined. */
export function parseIP(text: string): Uint8Array | undefined {
  return text.includes(':') ? parseIPv6(text) : parseIPv4(text)
}

/** Writes 4 or 16 bytes as text; IPv6 as RFC 5952 says (lower case, longest run of zeros as "::", mapped IPv4 dotted). */
export function formatIP(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  if (isMapped(bytes)) return `::ffff:${bytes.subarray(12).join('.')}`
  const groups: number[] = []
  for (let index = 0; index < 16; index += 2) groups.push(((bytes[index] ?? 0) << 8) | (bytes[index + 1] ?? 0))
  let best = {start: -1, length: 1}
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (start + length < 8 && groups[start + length] === 0) length++
    if (length > best.length) best = {start, length}
  }
  const hex = groups.map((group) => group.toString(16))
  if (best.start < 0) return hex.join(':')
  return `${hex.slice(0, best.start).join(':')}::${hex.slice(best.start + best.length).join(':')}`
}

/** True for ::ffff:0:0/96, the IPv4 addresses that a dual-stack socket shows. */
export function isMapped(bytes: Uint8Array): boolean {
  return (
    bytes.length === 16 && bytes[10] === 0xff && bytes[11] === 0xff && bytes.subarray(0, 10).every((byte) => byte === 0)
  )
}

/** The IPv4 address inside a mapped one; every other address as it is. */
export function unmap(bytes: Uint8Array): Uint8Array {
  return isMapped(bytes) ? bytes.subarray(12) : bytes
}

/**
 * The plain form of an address as the system reports it for a socket: mapped IPv4 becomes IPv4, a zone identifier goes (a header has no place for it).
 * Runs for every connection, so text of the system that can only be IPv4 is not taken apart again.
 */
export function plainAddress(text: string | undefined): string | undefined {
  if (text === undefined || !text.includes(':')) return text
  const zone = text.indexOf('%')
  const bytes = parseIPv6(zone < 0 ? text : text.slice(0, zone))
  return bytes && formatIP(unmap(bytes))
}
