/** Domain names in the text form that CoreDNS works on (miekg/dns: escapes `\.` and `\DDD`, final dot). */

/** In: a name. Out: the same with a final dot, as dns.Fqdn. */
export function fqdn(name: string): string {
  return isFqdn(name) ? name : `${name}.`
}

/** In: a name. Out: whether it ends in a dot that is not escaped. */
export function isFqdn(name: string): boolean {
  if (!name.endsWith('.')) return false
  let backslashes = 0
  for (let at = name.length - 2; at >= 0 && name[at] === '\\'; at -= 1) backslashes += 1
  return backslashes % 2 === 0
}

/** In: a name from the Corefile. Out: lower case with final dot, as plugin.Name.Normalize. */
export function normalizeName(name: string): string {
  return fqdn(name).toLowerCase()
}

const encoder = new TextEncoder()
const plain = /^[!#-'*-:<-?A-[\]-~]*$/

/** In: a question name as it stands in memory. Out: what request.Name() gives: escaped where needed, lower case. */
export function questionName(name: string): string {
  return escapeName(name).toLowerCase()
}

/** As questionName without lower-casing: request.QName(). */
export function escapeName(name: string): string {
  if (name === '') return '.'
  if (plain.test(name)) return name
  const bytes = encoder.encode(name)
  let text = ''
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === 0x5c) {
      const [code, size] = unescapeAt(bytes, at)
      if (size === 0) break
      text += escapeByte(code)
      at += size - 1
    } else if (byte === 0x2e) text += '.'
    else text += escapeByte(byte)
  }
  return text
}

function unescapeAt(bytes: Uint8Array, at: number): [number, number] {
  const digits = [1, 2, 3].map((offset) => (bytes[at + offset] ?? 0) - 0x30)
  if (digits.every((digit) => digit >= 0 && digit <= 9)) {
    const [hundreds = 0, tens = 0, ones = 0] = digits
    return [(hundreds * 100 + tens * 10 + ones) & 255, 4]
  }
  const next = bytes[at + 1]
  return next === undefined ? [0, 0] : [next, 2]
}

function escapeByte(byte: number): string {
  if ([0x2e, 0x20, 0x27, 0x40, 0x3b, 0x28, 0x29, 0x22, 0x5c].includes(byte)) return `\\${String.fromCharCode(byte)}`
  if (byte < 0x20 || byte > 0x7e) return `\\${String(byte).padStart(3, '0')}`
  return String.fromCharCode(byte)
}

/** In: a name. Out: its labels; empty for the root. */
export function labelsOf(name: string): string[] {
  if (!name.includes('\\')) {
    const bare = name.endsWith('.') ? name.slice(0, -1) : name
    return bare === '' ? [] : bare.split('.')
  }
  const labels: string[] = []
  let label = ''
  for (let at = 0; at < name.length; at += 1) {
    const char = name[at] ?? ''
    if (char === '\\') {
      label += char + (name[at + 1] ?? '')
      at += 1
    } else if (char === '.') {
      labels.push(label)
      label = ''
    } else label += char
  }
  if (label !== '') labels.push(label)
  return labels
}

/** In: a zone and a name, both with final dot, case blind. Out: whether the name is the zone or below it (dns.IsSubDomain). */
export function isSubdomain(zone: string, name: string): boolean {
  const upper = zone.toLowerCase()
  const lower = name.toLowerCase()
  if (upper === '.') return true
  if (lower === upper) return true
  if (!lower.endsWith(`.${upper}`)) return false
  // An escaped dot in front of the zone belongs to a label.
  return !lower.includes('\\') || labelsOf(lower).slice(-labelsOf(upper).length).join('.') === labelsOf(upper).join('.')
}

/** In: zones and a name. Out: the longest zone that holds the name, undefined for none (plugin.Zones.Matches). */
export function longestZone(zones: readonly string[], name: string): string | undefined {
  let best: string | undefined
  for (const zone of zones) {
    if (isSubdomain(zone, name) && (best === undefined || zone.length > best.length)) best = zone
  }
  return best
}

/** In: a name. Out: whether miekg/dns can pack it: labels of 1 to 63 bytes, 255 in all. What rewrite checks after each match. */
export function isDomainName(name: string): boolean {
  if (name === '') return false
  const bytes = encoder.encode(fqdn(name))
  let off = 0
  let begin = 0
  let wasDot = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === 0x5c) {
      if (off + 1 > 256) return false
      const skip = unescapeAt(bytes, at)[1] === 4 ? 3 : 1
      at += skip
      begin += skip
      wasDot = false
    } else if (byte === 0x2e) {
      if ((at === 0 && bytes.length > 1) || wasDot) return false
      wasDot = true
      const length = at - begin
      if (length >= 64) return false
      off += 1 + length
      if (off > 256) return false
      begin = at + 1
    } else wasDot = false
  }
  return true
}
