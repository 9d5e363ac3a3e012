import {lstat, readFile, writeFile} from 'node:fs/promises'
import {basename, join} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import type {MirrorArchive} from '../../model/mirror.ts'
import type {MirrorPlan} from '../../model/mirror.ts'
import {nodesOf, walkGraph} from '../copy/graph.ts'
import type {CopyEventSink} from '../../model/mirror-events.ts'
import {ContentMismatch} from '../digest.ts'
import {verified} from '../download.ts'
import {digestsOfArchive, readArchivePlan} from '../layout/archive-plan.ts'
import {type ArchiveContent, layOut} from '../layout/content.ts'
import {type ArchivePart, findParts, sha256OfFile} from '../layout/parted-file.ts'
import {type LayoutReader, openLayout} from '../layout/read.ts'
import {layoutSource} from '../layout/source.ts'
import {writeFolder} from '../layout/write-folder.ts'
import {pipeTar, writeTar} from '../layout/write-tar.ts'
import {forEach, loadPlanned, type SourceOf} from '../plan/planner.ts'

export interface ExportRequest {
  readonly plan: MirrorPlan
  readonly sourceOf: SourceOf
  /** A `.tar` becomes one archive, `-` one on stdout, anything else a folder. */
  readonly path: string
  readonly split?: number | undefined
  /** An earlier export, whose blobs the reader has already. */
  readonly since?: string | undefined
  readonly emit: CopyEventSink
}

/** Name of the checksum list beside an archive, in the format of sha256sum. */
export function sumsPath(path: string): string {
  return `${path}.sha256`
}

/** Writes everything a plan names into an archive, with a checksum list. */
export async function exportArchive(request: ExportRequest): Promise<MirrorArchive> {
  const {plan, sourceOf, path, since, emit} = request
  const planned = await forEach(plan.items, (item) => {
    const slash = item.source.indexOf('/')
    return loadPlanned(sourceOf(item.source.slice(0, slash), item.source.slice(slash + 1)), item)
  })
  const lost = planned.flatMap((one) => one.lost.map(({name, reason}) => `${one.item.source}: ${name}: ${reason}`))
  const held = since === undefined ? new Set<string>() : await heldBy(since)
  const content = layOut(planned, plan, held, since === undefined ? '' : basename(since))
  if (path === '-') return pipeArchive(request, content, lost)
  const tar = path.endsWith('.tar')
  if (!tar && request.split !== undefined)
    throw new SrcipError('Usage', '--split cuts a tar archive: end the name with .tar')
  if (tar) await refuseExisting(path)
  const parts = tar ? (await writeTar(path, content, request.split, emit)).parts : []
  if (!tar) await writeFolder(path, content, emit)
  const sums = tar
    ? await sumsOf(parts)
    : await sumsOf(content.files.map(({name, bytes}) => ({file: join(path, name), size: bytes.length})))
  await writeFile(
    tar ? sumsPath(path) : join(path, 'SHA256SUMS'),
    sums.map(({sha256, file}) => `${sha256}  ${basename(file)}\n`).join(''),
  )
  return written(request, content, lost, sums)
}

function written(
  {path, plan, since}: ExportRequest,
  content: ArchiveContent,
  lost: readonly string[],
  parts: MirrorArchive['parts'],
): MirrorArchive {
  const size = content.blobs.reduce((sum, {blob}) => sum + blob.size, 0)
  const left = content.leftOut.reduce((sum, blob) => sum + blob.size, 0)
  return {
    ...describe(path, plan, content.blobs.length + content.manifests.length, size, lost),
    exitCode: lost.length > 0 ? 23 : 0,
    changed: true,
    parts,
    ...(since === undefined ? {} : {base: {name: basename(since), blobs: content.leftOut.length, size: left}}),
  }
}

async function pipeArchive(
  request: ExportRequest,
  content: ArchiveContent,
  lost: readonly string[],
): Promise<MirrorArchive> {
  if (request.split !== undefined) throw new SrcipError('Usage', '--split cuts a file: a pipe is one piece')
  const {size, sha256} = await pipeTar(1, content, request.emit)
  return written(request, content, lost, [{file: '-', size, sha256}])
}

/** A finished archive is never overwritten: it may be the base of deltas. */
async function refuseExisting(path: string): Promise<void> {
  for (const name of [path, `${path}.000`]) {
    if ((await lstat(name).catch(() => undefined)) !== undefined) {
      throw new SrcipError('Conflict', `${name} exists already`, {
        object: name,
        hints: ['choose another name, or remove it'],
      })
    }
  }
}

async function heldBy(since: string): Promise<Set<string>> {
  const reader = await openLayout(since)
  try {
    return await digestsOfArchive(reader)
  } finally {
    await reader.close()
  }
}

async function sumsOf(parts: readonly ArchivePart[]): Promise<{file: string; size: number; sha256: string}[]> {
  const sums = []
  for (const part of parts) sums.push({...part, sha256: await sha256OfFile(part.file)})
  return sums
}

function describe(
  path: string,
  plan: MirrorPlan,
  blobs: number,
  size: number,
  problems: readonly string[],
): MirrorArchive {
  return {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'MirrorArchive',
    exitCode: 0,
    changed: false,
    warnings: plan.warnings,
    path,
    parts: [],
    items: plan.items.map((item) => ({
      source: item.source,
      ...(item.tag === undefined ? {} : {tag: item.tag}),
      digest: item.digest,
      role: item.role,
      size: item.size,
      extras: item.extras.length,
    })),
    blobs,
    size,
    problems,
  }
}

/** An archive opened for import: its plan, and sources for the repositories in it. */
export interface OpenedArchive {
  readonly plan: MirrorPlan
  readonly sourceOf: SourceOf
  close(): Promise<void>
}

/** Opens an archive to copy from. @param repository `host/path` for plain tags of a foreign layout */
export async function openArchive(path: string, repository?: string): Promise<OpenedArchive> {
  const reader = await openLayout(path)
  try {
    const {plan, base} = await readArchivePlan(reader, repository)
    const tags = new Map<string, Map<string, string>>()
    for (const item of plan.items) {
      const own = tags.get(item.source) ?? new Map<string, string>()
      tags.set(item.source, own)
      if (item.tag !== undefined) own.set(item.tag, item.digest)
      for (const extra of item.extras) if (extra.tag !== undefined) own.set(extra.tag, extra.digest)
    }
    const sourceOf: SourceOf = (host, name) =>
      layoutSource(reader, `${host}/${name}`, tags.get(`${host}/${name}`) ?? new Map(), base?.name)
    return {plan, sourceOf, close: () => reader.close()}
  } catch (error) {
    await reader.close()
    throw error
  }
}

/** Lists an archive, and unless `quick` hashes every blob in it and compares the checksum list. Needs no network. */
export async function inspectArchive(path: string, quick: boolean, repository?: string): Promise<MirrorArchive> {
  const reader = await openLayout(path)
  try {
    const {plan, base} = await readArchivePlan(reader, repository)
    const problems = [
      ...(await missingContent(reader, plan, base?.name)),
      ...(quick ? [] : [...(await wrongBlobs(reader)), ...(await wrongSums(path))]),
    ]
    const size = [...reader.blobs.values()].reduce((sum, one) => sum + one, 0)
    return {
      ...describe(path, plan, reader.blobs.size, size, problems),
      exitCode: problems.length > 0 ? 22 : 0,
      ...(base === undefined ? {} : {base}),
    }
  } finally {
    await reader.close()
  }
}

async function missingContent(reader: LayoutReader, plan: MirrorPlan, base: string | undefined): Promise<string[]> {
  const source = layoutSource(reader, reader.path, new Map())
  const problems: string[] = []
  for (const item of plan.items) {
    for (const digest of [item.digest, ...item.extras.map((extra) => extra.digest)]) {
      try {
        const graph = await walkGraph(source, {digest})
        if (base !== undefined) continue
        for (const node of nodesOf(graph))
          for (const blob of node.manifest.blobs)
            if (!reader.blobs.has(blob.digest)) problems.push(`${item.source}: ${blob.digest} is not in the archive`)
      } catch (error) {
        if (!(error instanceof SrcipError)) throw error
        problems.push(error.message)
      }
    }
  }
  return [...new Set(problems)]
}

async function wrongBlobs(reader: LayoutReader): Promise<string[]> {
  const source = layoutSource(reader, reader.path, new Map())
  const problems: string[] = []
  for (const [digest, size] of reader.blobs) {
    const blob = {digest, size, mediaType: 'application/octet-stream'}
    try {
      await verified(
        blob,
        (sink) => source.streamBlob(blob, sink, () => {}),
        () => undefined,
      )
    } catch (error) {
      if (!(error instanceof ContentMismatch)) throw error
      problems.push(error.message)
    }
  }
  return problems
}

/** Compares the files with the checksum list beside them, where there is one. */
async function wrongSums(path: string): Promise<string[]> {
  const folder = (await lstat(path).catch(() => undefined))?.isDirectory() === true
  const list = await readFile(folder ? join(path, 'SHA256SUMS') : sumsPath(path.replace(/\.000$/, '')), 'utf8').catch(
    () => '',
  )
  const wanted = new Map(
    [...list.matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm)].map((match) => [match[2] ?? '', match[1] ?? '']),
  )
  const files = folder
    ? ['oci-layout', 'index.json', 'srcip-mirror.json'].map((name) => join(path, name))
    : (await findParts(path)).map(({file}) => file)
  const problems: string[] = []
  for (const file of files) {
    const expected = wanted.get(basename(file))
    if (expected !== undefined && (await sha256OfFile(file)) !== expected)
      problems.push(`${file}: its SHA-256 is not the one of the checksum list`)
  }
  return problems
}
