import {SrcipError} from '../../model/errors.ts'
import {limits} from '../limits.ts'
import {cleanText} from '../text.ts'

/**
 * Tar by hand, not by tar-stream: an export is resumed and an import reads by offset, so both need the exact place of every
 * entry; writing must give the same bytes for the same content; and reading refuses what tar-stream lets pass (two entries
 * of one name, links, devices, sparse files).
 */

export const blockSize = 512
const largestOctalSize = 0o77777777777

/** Bytes that an entry of this size takes, padding included. */
export function padded(size: number): number {
  return Math.ceil(size / blockSize) * blockSize
}

function field(header: Buffer, text: string, at: number, length: number): void {
  header.write(text, at, length, 'ascii')
}

function ustar(name: string, size: number, type: '0' | '5' | 'x'): Buffer {
  const header = Buffer.alloc(blockSize)
  field(header, name, 0, 100)
  field(header, type === '5' ? '0000755\0' : '0000644\0', 100, 8)
  field(header, '0000000\0', 108, 8)
  field(header, '0000000\0', 116, 8)
  field(header, `${Math.min(size, largestOctalSize).toString(8).padStart(11, '0')}\0`, 124, 12)
  field(header, '00000000000\0', 136, 12)
  field(header, '        ', 148, 8)
  field(header, type, 156, 1)
  field(header, 'ustar\u000000', 257, 8)
  let sum = 0
  for (const byte of header) sum += byte
  field(header, `${sum.toString(8).padStart(6, '0')}\0 `, 148, 8)
  return header
}

/**
 * The header of a file or folder: ustar, mode 0644 or 0755, no owner, time 0; a pax record for sizes of 8 GiB and more.
 * The same arguments always give the same bytes. Names are ours and short.
 */
export function tarHeader(name: string, size: number, type: 'file' | 'folder' = 'file'): Buffer {
  const plain = ustar(name, size, type === 'file' ? '0' : '5')
  if (size <= largestOctalSize) return plain
  const body = paxRecord('size', String(size))
  return Buffer.concat([ustar('pax', body.length, 'x'), body, Buffer.alloc(padded(body.length) - body.length), plain])
}

/** `LENGTH key=value\n`, where LENGTH counts itself (POSIX.1-2001, pax interchange format). */
function paxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`
  let length = rest.length + 1
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length
  return Buffer.from(`${length}${rest}`)
}

/** Two empty blocks end an archive. */
export const tarEnd = Buffer.alloc(2 * blockSize)

export interface TarEntry {
  readonly name: string
  readonly size: number
  /** First byte of the content. */
  readonly offset: number
  readonly folder: boolean
}

/** Reads `length` bytes at `offset`; fewer only at the end. */
export type ReadAt = (offset: number, length: number) => Promise<Buffer>

function refuse(archive: string, what: string): never {
  throw new SrcipError('Precondition', `${archive}: ${what}: refused`, {object: archive})
}

function readNumber(header: Buffer, at: number, length: number): number {
  const first = header[at] ?? 0
  if ((first & 0x80) !== 0) {
    // GNU's base-256 form for sizes that octal digits cannot hold.
    let value = first & 0x7f
    for (let index = 1; index < length; index++) value = value * 256 + (header[at + index] ?? 0)
    return value
  }
  const text = header
    .toString('latin1', at, at + length)
    .replace(/\0.*$/s, '')
    .trim()
  return /^[0-7]*$/.test(text) ? Number.parseInt(text === '' ? '0' : text, 8) : Number.NaN
}

function readName(header: Buffer): string {
  const text = (at: number, length: number): string => header.toString('utf8', at, at + length).replace(/\0.*$/s, '')
  const prefix = header.toString('latin1', 257, 262) === 'ustar' ? text(345, 155) : ''
  return prefix === '' ? text(0, 100) : `${prefix}/${text(0, 100)}`
}

function checkSum(header: Buffer): boolean {
  let sum = 0
  for (let at = 0; at < blockSize; at++) sum += at >= 148 && at < 156 ? 32 : (header[at] ?? 0)
  return sum === readNumber(header, 148, 8)
}

function readPax(body: Buffer, archive: string): Map<string, string> {
  const records = new Map<string, string>()
  let at = 0
  while (at < body.length) {
    const space = body.indexOf(0x20, at)
    const length = Number(body.toString('latin1', at, space))
    if (space < 0 || !Number.isSafeInteger(length) || length < 5 || at + length > body.length)
      refuse(archive, 'a pax header that cannot be read')
    const [key = '', ...value] = body.toString('utf8', space + 1, at + length - 1).split('=')
    records.set(key, value.join('='))
    at += length
  }
  return records
}

/**
 * The entries of an archive one after the other. Reads only forwards, so it can walk a pipe: what a caller has not read of an
 * entry is skipped.
 * @param total bytes of the archive; infinity where they are not known
 * @throws SrcipError Precondition for links, devices, sparse files, absolute names, `..`, NUL, names given twice, more
 *   entries than allowed, a wrong checksum, or an archive that ends early
 */
export async function* walkTar(archive: string, readAt: ReadAt, total: number): AsyncGenerator<TarEntry, void> {
  const names = new Set<string>()
  let at = 0
  let pax = new Map<string, string>()
  for (let count = 0; ; count++) {
    if (count > limits.archiveEntries) refuse(archive, `more than ${limits.archiveEntries} entries`)
    const header = await readAt(at, blockSize)
    if (header.length < blockSize) refuse(archive, 'it ends early, without its end marker (truncated?)')
    if (header.every((byte) => byte === 0)) return
    if (!checkSum(header)) refuse(archive, `no tar header at byte ${at}`)
    const type = String.fromCharCode(header[156] ?? 0)
    const size = Number(pax.get('size') ?? readNumber(header, 124, 12))
    if (!Number.isSafeInteger(size) || size < 0) refuse(archive, 'an entry with an impossible size')
    const offset = at + blockSize
    if (offset + size > total) refuse(archive, `it ends inside ${cleanText(readName(header))} (truncated?)`)
    at = offset + padded(size)
    if (type === 'x') {
      if (size > limits.paxHeader) refuse(archive, `a pax header of ${size} bytes`)
      pax = readPax(await readAt(offset, size), archive)
      if ([...pax.keys()].some((key) => key.startsWith('GNU.sparse'))) refuse(archive, 'a sparse file')
      continue
    }
    if (type === 'g') continue
    const name = (pax.get('path') ?? readName(header)).replace(/^\.\//, '')
    pax = new Map()
    checkEntry(archive, name, type)
    const folder = type === '5'
    const key = name.replace(/\/+$/, '')
    if (key === '' || key === '.') continue
    if (names.has(key) && !folder) refuse(archive, `two entries named ${cleanText(name)}`)
    names.add(key)
    yield {name: key, size, offset, folder}
  }
}

/** Lists the entries of an archive without reading their content. @throws SrcipError as `walkTar` */
export async function scanTar(archive: string, readAt: ReadAt, total: number): Promise<TarEntry[]> {
  const entries: TarEntry[] = []
  for await (const entry of walkTar(archive, readAt, total)) entries.push(entry)
  return entries
}

function checkEntry(archive: string, name: string, type: string): void {
  const shown = cleanText(name)
  if (name.includes('\0') || name.includes('\\')) refuse(archive, `an entry with a strange name, ${shown}`)
  if (name.startsWith('/')) refuse(archive, `an entry with an absolute name, ${shown}`)
  if (name.split('/').includes('..')) refuse(archive, `an entry that leaves the archive, ${shown}`)
  const kinds: Readonly<Record<string, string>> = {
    '1': 'a hard link',
    '2': 'a symbolic link',
    '3': 'a device',
    '4': 'a device',
    '6': 'a pipe',
    S: 'a sparse file',
    L: 'a long name',
  }
  if (type !== '0' && type !== '\0' && type !== '5')
    refuse(archive, `${kinds[type] ?? `an entry of type ${cleanText(type)}`}, ${shown}`)
}
