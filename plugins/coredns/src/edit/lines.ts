/** Lines of a file by byte offset. */
export interface Line {
  /** First byte. */
  readonly start: number
  /** First byte of the next line (or the end of the file). */
  readonly next: number
  /** End of the text, before CR and LF. */
  readonly end: number
}

/** Where the lines of `bytes` begin and end. */
export class LineMap {
  private readonly bytes: Uint8Array
  private readonly starts: number[] = [0]

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) {
      if (at + 1 < bytes.length) this.starts.push(at + 1)
    }
  }

  get count(): number {
    return this.starts.length
  }

  /** 1-based number of the line that holds a byte. */
  numberAt(offset: number): number {
    let low = 0
    let high = this.starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.starts[middle] as number) <= offset) low = middle
      else high = middle - 1
    }
    return low + 1
  }

  line(number: number): Line {
    const start = this.starts[number - 1] as number
    const next = this.starts[number] ?? this.bytes.length
    let end = next
    if (end > start && this.bytes[end - 1] === 0x0a) end--
    if (end > start && this.bytes[end - 1] === 0x0d) end--
    return {start, next, end}
  }

  lineAt(offset: number): Line {
    return this.line(this.numberAt(offset))
  }

  /** Text of a line without its end. */
  text(line: Line): string {
    return utf8.decode(this.bytes.subarray(line.start, line.end))
  }

  /** The bytes that end this line; LF for a last line without one. */
  endOfLine(line: Line): string {
    return this.bytes[line.end] === 0x0d ? '\r\n' : '\n'
  }

  /** Leading blanks and tabs; undefined when another white space stands among them. */
  indentOf(line: Line): string | undefined {
    let at = line.start
    if (at === 0 && this.bytes[0] === 0xef && this.bytes[1] === 0xbb) at = 3
    const from = at
    while (this.bytes[at] === 0x20 || this.bytes[at] === 0x09) at++
    return (this.bytes[at] ?? 0) < 0x80 ? utf8.decode(this.bytes.subarray(from, at)) : undefined
  }

  /** The text between two offsets. The file must be valid UTF-8. */
  slice(from: number, to: number): string {
    return utf8.decode(this.bytes.subarray(from, to))
  }
}

const utf8 = new TextDecoder('utf-8', {ignoreBOM: true})
