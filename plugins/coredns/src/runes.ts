/** One code point and the bytes it takes. */
export interface Rune {
  readonly code: number
  readonly size: number
}

const bad: Rune = {code: 0xfffd, size: 1}

/**
 * Decodes one UTF-8 sequence the way Go does: every byte that begins no valid sequence is U+FFFD of size 1
 * (the WHATWG decoder groups such bytes, so it cannot be used). Surrogates and overlong forms are invalid.
 */
export function decodeRune(bytes: Uint8Array, at: number): Rune {
  const first = bytes[at] as number
  if (first < 0x80) return {code: first, size: 1}
  if (first < 0xc2 || first > 0xf4) return bad
  const second = bytes[at + 1] ?? 0
  if (first < 0xe0) return continues(second) ? {code: ((first & 0x1f) << 6) | (second & 0x3f), size: 2} : bad
  if (!continues(second)) return bad
  const third = bytes[at + 2] ?? 0
  if (first < 0xf0) {
    if ((first === 0xe0 && second < 0xa0) || (first === 0xed && second > 0x9f) || !continues(third)) return bad
    return {code: ((first & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f), size: 3}
  }
  if ((first === 0xf0 && second < 0x90) || (first === 0xf4 && second > 0x8f) || !continues(third)) return bad
  const fourth = bytes[at + 3] ?? 0
  if (!continues(fourth)) return bad
  const high = ((first & 0x07) << 18) | ((second & 0x3f) << 12)
  return {code: high | ((third & 0x3f) << 6) | (fourth & 0x3f), size: 4}
}

function continues(byte: number): boolean {
  return (byte & 0xc0) === 0x80
}

/** White space beyond ASCII as Go's unicode.IsSpace has it; U+200B and U+FEFF are not in it. */
export function isWideSpace(code: number): boolean {
  if (code === 0x85 || code === 0xa0 || code === 0x1680) return true
  return (code >= 0x2000 && code <= 0x200a) || [0x2028, 0x2029, 0x202f, 0x205f, 0x3000].includes(code)
}

/** Characters that take no room on a screen, so that two different names look the same; also the bidirectional controls. */
export function isZeroWidth(code: number): boolean {
  if (code < 0xad) return false
  if (code === 0xad || code === 0xfeff || code === 0x180e) return true
  return (
    (code >= 0x200b && code <= 0x200f) ||
    (code >= 0x202a && code <= 0x202e) ||
    (code >= 0x2060 && code <= 0x2064) ||
    (code >= 0x2066 && code <= 0x2069)
  )
}

/** Bytewise order of two strings in UTF-8, which is the order Go sorts by (JavaScript compares UTF-16 units). */
export function compareBytewise(left: string, right: string): number {
  if (left === right) return 0
  const common = Math.min(left.length, right.length)
  for (let at = 0; at < common; at++) {
    const a = left.charCodeAt(at)
    const b = right.charCodeAt(at)
    if (a === b) continue
    // A surrogate stands for a code point above every other unit, so it sorts behind U+E000 to U+FFFF.
    const aWide = a >= 0xd800 && a <= 0xdfff
    const bWide = b >= 0xd800 && b <= 0xdfff
    if (aWide !== bWide) return aWide ? 1 : -1
    return a - b
  }
  return left.length - right.length
}

/** 1-based column, in characters, of a byte offset: what an editor shows. */
export function columnOf(bytes: Uint8Array, offset: number): number {
  return columnReader(bytes)(offset)
}

/** `columnOf` for many offsets of one text: as long as they grow, they cost one walk over the text together. */
export function columnReader(bytes: Uint8Array): (offset: number) => number {
  let at = 0
  let column = 1
  return (offset) => {
    if (offset < at) [at, column] = [0, 1]
    const lineEnd = bytes.subarray(at, offset).lastIndexOf(0x0a)
    if (lineEnd >= 0) [at, column] = [at + lineEnd + 1, 1]
    for (; at < offset; at += decodeRune(bytes, at).size) column++
    return column
  }
}
