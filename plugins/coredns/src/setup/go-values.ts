/** Values as Go's standard library reads them, with its error texts where CoreDNS passes them on. */

export type Read<Value> = {readonly ok: true; readonly value: Value} | {readonly ok: false; readonly message: string}

function good<Value>(value: Value): Read<Value> {
  return {ok: true, value}
}

function bad(message: string): {readonly ok: false; readonly message: string} {
  return {ok: false, message}
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

/** Go's strconv.Atoi. */
export function readInteger(text: string): Read<number> {
  if (!/^[+-]?\d+$/.test(text)) return bad(`strconv.Atoi: parsing ${quoted(text)}: invalid syntax`)
  const value = BigInt(text.replace(/^\+/, ''))
  if (value > 9223372036854775807n || value < -9223372036854775808n) {
    return bad(`strconv.Atoi: parsing ${quoted(text)}: value out of range`)
  }
  return good(Number(value))
}

/** Go's strconv.ParseUint with base 10 and a size in bits. */
export function readUnsigned(text: string, bits: number): Read<number> {
  if (!/^\d+$/.test(text)) return bad(`strconv.ParseUint: parsing ${quoted(text)}: invalid syntax`)
  if (BigInt(text) >= 1n << BigInt(bits)) return bad(`strconv.ParseUint: parsing ${quoted(text)}: value out of range`)
  return good(Number(text))
}

const unitSeconds: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  μs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
}

/** Go's time.ParseDuration. Out: seconds. */
export function readDuration(text: string): Read<number> {
  let rest = text
  const negative = rest.startsWith('-')
  if (/^[+-]/.test(rest)) rest = rest.slice(1)
  if (rest === '0') return good(0)
  if (rest === '') return bad(`time: invalid duration ${quoted(text)}`)
  let seconds = 0
  while (rest !== '') {
    const number = /^(\d+\.?\d*|\.\d+)/.exec(rest)
    if (number === null) return bad(`time: invalid duration ${quoted(text)}`)
    rest = rest.slice(number[0].length)
    const unit = /^[^.\d]+/.exec(rest)
    if (unit === null) return bad(`time: missing unit in duration ${quoted(text)}`)
    const factor = unitSeconds[unit[0]]
    if (factor === undefined) return bad(`time: unknown unit ${quoted(unit[0])} in duration ${quoted(text)}`)
    seconds += Number(number[0]) * factor
    rest = rest.slice(unit[0].length)
  }
  return seconds > 9.2e9 ? bad(`time: invalid duration ${quoted(text)}`) : good(negative ? -seconds : seconds)
}

/** Go's net.ParseIP. Out: the address in its shortest form (RFC 5952), and its family; undefined for anything else. */
export function readAddress(text: string): {readonly family: 4 | 6; readonly text: string} | undefined {
  const four = readFour(text)
  if (four !== undefined) return {family: 4, text: four.join('.')}
  const groups = readSix(text)
  if (groups === undefined) return undefined
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6)
    return {family: 4, text: [high >> 8, high & 255, low >> 8, low & 255].join('.')}
  }
  return {family: 6, text: writeSix(groups)}
}

function readFour(text: string): number[] | undefined {
  const parts = text.split('.')
  if (parts.length !== 4) return undefined
  const numbers = parts.map((part) => (/^(0|[1-9]\d{0,2})$/.test(part) ? Number(part) : Number.NaN))
  return numbers.every((number) => number <= 255) ? numbers : undefined
}

function readSix(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2 || !text.includes(':')) return undefined
  const read = (half: string): number[] | undefined => {
    if (half === '') return []
    const words: number[] = []
    const parts = half.split(':')
    for (const [index, part] of parts.entries()) {
      const four = index === parts.length - 1 ? readFour(part) : undefined
      if (four !== undefined) words.push(((four[0] ?? 0) << 8) | (four[1] ?? 0), ((four[2] ?? 0) << 8) | (four[3] ?? 0))
      else if (/^[0-9A-Fa-f]{1,4}$/.test(part)) words.push(Number.parseInt(part, 16))
      else return undefined
    }
    return words
  }
  const left = read(halves[0] ?? '')
  const right = halves.length === 2 ? read(halves[1] ?? '') : []
  if (left === undefined || right === undefined) return undefined
  if (halves.length === 1) return left.length === 8 ? left : undefined
  const missing = 8 - left.length - right.length
  return missing < 1 ? undefined : [...left, ...Array.from({length: missing}, () => 0), ...right]
}

function writeSix(groups: readonly number[]): string {
  let best = {from: -1, length: 1}
  for (let from = 0; from < 8; from += 1) {
    let length = 0
    while (from + length < 8 && groups[from + length] === 0) length += 1
    if (length > best.length) best = {from, length}
  }
  const words = groups.map((group) => group.toString(16))
  if (best.from < 0) return words.join(':')
  return `${words.slice(0, best.from).join(':')}::${words.slice(best.from + best.length).join(':')}`
}

/** Go's net.ParseCIDR, reduced to what CoreDNS needs. Out: family, address bits as text of 0 and 1, prefix length. */
export function readNetwork(
  text: string,
): {readonly family: 4 | 6; readonly bits: string; readonly length: number} | undefined {
  const match = /^([^/]+)\/(\d{1,3})$/.exec(text)
  const address = match === null ? undefined : readAddress(match[1] ?? '')
  const length = Number(match?.[2])
  if (address === undefined || length > (address.family === 4 ? 32 : 128)) return undefined
  return {family: address.family, bits: addressBits(address.text) ?? '', length}
}

/** In: an IP address. Out: its bits as text of 0 and 1 (32 or 128 of them), undefined for anything else. */
export function addressBits(text: string): string | undefined {
  const address = readAddress(text)
  if (address === undefined) return undefined
  if (address.family === 4) {
    return address.text
      .split('.')
      .map((part) => Number(part).toString(2).padStart(8, '0'))
      .join('')
  }
  return (readSix(address.text) ?? []).map((group) => group.toString(2).padStart(16, '0')).join('')
}

/** Go's net.SplitHostPort. */
export function readHostPort(text: string): Read<{readonly host: string; readonly port: string}> {
  const wrong = (why: string) => bad(`address ${text}: ${why}`)
  const colon = text.lastIndexOf(':')
  if (colon < 0) return wrong('missing port in address')
  let host = text.slice(0, colon)
  if (text.startsWith('[')) {
    const end = text.indexOf(']')
    if (end < 0) return wrong("missing ']' in address")
    if (end + 1 === text.length) return wrong('missing port in address')
    if (end + 1 !== colon)
      return wrong(text[end + 1] === ':' ? 'too many colons in address' : 'missing port in address')
    host = text.slice(1, end)
    if (text.slice(1).includes('[')) return wrong("unexpected '[' in address")
    if (text.slice(end + 1).includes(']')) return wrong("unexpected ']' in address")
  } else {
    if (host.includes(':')) return wrong('too many colons in address')
    if (text.includes('[')) return wrong("unexpected '[' in address")
    if (text.includes(']')) return wrong("unexpected ']' in address")
  }
  return good({host, port: text.slice(colon + 1)})
}
