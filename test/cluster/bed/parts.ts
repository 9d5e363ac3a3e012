import {accessSync, constants, existsSync} from 'node:fs'
import {delimiter, join} from 'node:path'
import {buildPart, run} from './part-build.ts'
import {npmPart} from './npm-part.ts'
import {partOf, type BuiltPart, type PackagedPart, type PartName} from './part-table.ts'

export {PREPARED, type PartName} from './part-table.ts'
export {cacheFolder} from './part-build.ts'

/** Why a part cannot be had, in words for the person who wants to run the test. */
export type Missing = {missing: string}

const known = new Map<PartName, Promise<string | Missing>>()

/**
 * The path of a part: from `KUBEBUILDER_ASSETS`, from PATH where the version fits, from the cache, else built once.
 * A part that cannot be had is no error: the answer says why.
 */
export function partPath(name: PartName): Promise<string | Missing> {
  let path = known.get(name)
  if (path === undefined) {
    const part = partOf(name)
    path = part.kind === 'packaged' ? packagedPath(part) : part.kind === 'npm' ? npmPart(part) : builtPath(part)
    known.set(name, path)
  }
  return path
}

/** The paths of several parts, or the first reason why one of them is missing. */
export async function partPaths<Name extends PartName>(
  names: readonly Name[],
): Promise<Record<Name, string> | Missing> {
  const paths: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const path = await partPath(name)
    if (typeof path !== 'string') return {missing: `${name}: ${path.missing}`}
    paths[name] = path
  }
  return paths as Record<Name, string>
}

/** The path of a part that the caller cannot do without; throws with the reason. */
export async function requirePart(name: PartName): Promise<string> {
  const path = await partPath(name)
  if (typeof path !== 'string') throw new Error(`test bed part ${name} is missing: ${path.missing}`)
  return path
}

/** First executable file of this name on PATH and in the sbin folders, which a user's PATH often leaves out. */
export function onPath(binary: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/local/sbin']
  return folders
    .filter(Boolean)
    .map((folder) => join(folder, binary))
    .find(isExecutable)
}

async function packagedPath(part: PackagedPart): Promise<string | Missing> {
  const path = onPath(part.binary)
  const there = path !== undefined && (part.file === undefined || existsSync(part.file))
  if (!there) return {missing: `not installed: apt-get install ${part.debian}`}
  const {code, output} = part.works === undefined ? {code: 0, output: ''} : await run(path, part.works)
  return code === 0 ? path : {missing: `${part.binary} ${part.works?.join(' ')} is not allowed here: ${output.trim()}`}
}

async function builtPath(part: BuiltPart): Promise<string | Missing> {
  if (part.found !== undefined) {
    const assets = process.env['KUBEBUILDER_ASSETS']
    const candidates = [assets === undefined ? undefined : join(assets, part.found.name), onPath(part.found.name)]
    for (const candidate of candidates) {
      if (candidate === undefined || !isExecutable(candidate)) continue
      const answer = await run(candidate, part.found.args)
      if (part.found.accept.test(answer.output)) return candidate
    }
  }
  return buildPart(part)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
