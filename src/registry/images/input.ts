import {readdir, readFile, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import {parseReference} from '../reference.ts'
import {readStdin} from '../plan/document.ts'
import type {Wanted} from '../plan/planner.ts'
import {cleanText} from '../text.ts'
import {type ChartImages, readChartFolder, readPackagedChart, searchChart, whereFound} from './chart.ts'
import {findImages, type FoundImage, type ImageSearch, type TextValue} from './shapes.ts'
import {parseTextValues} from './values-text.ts'

/** What was read from files: references with their places, and what has to be looked at by a person. */
export interface Found {
  readonly wanted: readonly Wanted[]
  readonly warnings: readonly string[]
}

/** References of a search as wishes; what cannot be planned (no tag, no digest) becomes a warning, never silence. */
export function wantedOf(search: ImageSearch & Partial<ChartImages>, from: string): Found {
  const warnings = search.suspected.map(
    ({path, reference}) =>
      `${whereFound(from, path)} looks like an image and is not planned: ${reference}; name it as an argument if it is one`,
  )
  const wanted = search.images.flatMap((image): Wanted[] => {
    const place = whereFound(from, image.path)
    try {
      return [{reference: parseReference(image.reference), foundIn: [place], notes: notesOf(image)}]
    } catch (error) {
      if (!(error instanceof SrcipError)) throw error
      warnings.push(`${place}: ${error.message}`)
      return []
    }
  })
  return {wanted, warnings}
}

function notesOf(image: FoundImage): string[] {
  return image.assumedTag === undefined ? [] : [`no tag in the values: the chart's appVersion ${image.assumedTag}`]
}

function together(parts: readonly Found[]): Found {
  return {wanted: parts.flatMap(({wanted}) => wanted), warnings: parts.flatMap(({warnings}) => warnings)}
}

/** Objects of the API with containers in them, lists of them, and a Snapshot. */
function isObjects(value: TextValue): boolean {
  if (typeof value !== 'object' || Array.isArray(value)) return false
  const object = value as Record<string, TextValue>
  return typeof object['kind'] === 'string' && typeof object['apiVersion'] === 'string'
}

/** A list: one reference a line, comments and blanks between. */
export function readList(text: string, from: string): Found {
  const wanted = text.split(/\r?\n/).flatMap((line, at): Wanted[] => {
    const plain = line.replace(/(?:^|\s)#.*$/, '').trim()
    if (plain === '') return []
    try {
      return [{reference: parseReference(plain), foundIn: [`${from}: line ${at + 1}`]}]
    } catch (error) {
      if (error instanceof SrcipError)
        throw new SrcipError('Usage', `${from}, line ${at + 1}: ${error.message}`, {object: from, hints: error.hints})
      throw error
    }
  })
  return {wanted, warnings: []}
}

function isList(text: string): boolean {
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.replace(/(?:^|\s)#.*$/, '').trim())
    .filter((line) => line !== '')
  return (
    lines.length > 0 &&
    lines.every(
      (line) => !/\s/.test(line) && (line.startsWith('oci://') || /^[^:]+[/:@]/.test(line)) && !line.endsWith(':'),
    )
  )
}

async function readText(text: string, from: string): Promise<Found> {
  if (isList(text)) return readList(text, from)
  const values = await parseTextValues(text, from)
  if (values.every((value) => typeof value === 'string')) return readList(text, from)
  return together(
    values.map((value) => {
      const found = wantedOf(findImages(isObjects(value) ? containersOf(value) : value), from)
      return isSnapshot(value) ? {...found, warnings: [...found.warnings, partOfCluster(from)]} : found
    }),
  )
}

function isSnapshot(value: TextValue): boolean {
  return isObjects(value) && (value as Record<string, TextValue>)['kind'] === 'Snapshot'
}

function partOfCluster(from: string): string {
  return `${from} is a snapshot: it holds what receives traffic and parts that are known, not every image of the cluster (--from-cluster does)`
}

/** Manifests are searched whole; status fields and the last-applied annotation only repeat what the spec says. */
function containersOf(value: TextValue): TextValue {
  if (typeof value !== 'object') return value
  if (Array.isArray(value)) return (value as readonly TextValue[]).map(containersOf)
  const out: Record<string, TextValue> = {}
  for (const [key, entry] of Object.entries(value as Record<string, TextValue>)) {
    if (key === 'status' || key === 'managedFields' || key === 'kubectl.kubernetes.io/last-applied-configuration')
      continue
    out[key] = containersOf(entry)
  }
  return out
}

/**
 * Reads what `-f` names: a chart (folder or .tgz), values, manifests, a Snapshot, a list, a folder of manifests; `-` is stdin.
 * @param overlays values laid over a chart's own (`--values`)
 */
export async function readInput(path: string, overlays: readonly TextValue[]): Promise<Found> {
  if (path === '-') return readText(await readStdin(), 'stdin')
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) throw new SrcipError('Usage', `${path} is not there`, {object: path})
  if (found.isDirectory()) {
    const isChart = await stat(join(path, 'Chart.yaml')).then(
      () => true,
      () => false,
    )
    return isChart
      ? chartImages(await searchChart(await readChartFolder(path), path, overlays), path)
      : readFolder(path)
  }
  if (/\.t(?:ar\.)?gz$/.test(path))
    return chartImages(await searchChart(await readPackagedChart(await readFile(path), path), path, overlays), path)
  return readText(await readFile(path, 'utf8'), path)
}

async function readFolder(path: string): Promise<Found> {
  const names = (await readdir(path)).filter((name) => /\.(?:ya?ml|json)$/.test(name)).sort()
  if (names.length === 0) throw new SrcipError('Usage', `${path} holds neither a chart nor manifests`, {object: path})
  return together(
    await Promise.all(names.map(async (name) => readText(await readFile(join(path, name), 'utf8'), join(path, name)))),
  )
}

function chartImages(chart: ChartImages, from: string): Found {
  const found = wantedOf(chart, from)
  const warnings = chart.tagUses.map(
    (place) =>
      `${from}: ${cleanText(place)} uses an image tag as a label or version: a digest in that tag may not be legal there`,
  )
  return {wanted: found.wanted, warnings: [...found.warnings, ...warnings]}
}

/** References in live objects: what the spec asks for, pinned to what the nodes run where the status tells. */
export function imagesOfPods(
  pods: readonly {
    readonly namespace: string
    readonly name: string
    readonly containers: readonly {readonly image: string; readonly imageID?: string}[]
  }[],
): Found {
  const byImage = new Map<string, {places: Set<string>; digests: Set<string>}>()
  for (const pod of pods) {
    for (const {image, imageID} of pod.containers) {
      const entry = byImage.get(image) ?? {places: new Set<string>(), digests: new Set<string>()}
      entry.places.add(`pod/${pod.namespace}/${pod.name}`)
      const digest = /@(sha256:[0-9a-f]{64})$/.exec(imageID ?? '')?.[1]
      if (digest !== undefined) entry.digests.add(digest)
      byImage.set(image, entry)
    }
  }
  const warnings: string[] = []
  const wanted = [...byImage].flatMap(([image, {places, digests}]): Wanted[] => {
    const foundIn = [...places].sort().slice(0, 20)
    try {
      // A Pod may name no tag at all; the runtime has read it as latest, so here it is no guess.
      const reference = parseReference(/[:@][^/]*$/.test(image) ? image : `${image}:latest`)
      const notes =
        digests.size === 1 && reference.digest === undefined
          ? [`nodes run ${[...digests][0]}`]
          : digests.size > 1
            ? [`nodes run ${digests.size} different digests of it`]
            : []
      return [{reference, foundIn, notes}]
    } catch (error) {
      if (!(error instanceof SrcipError)) throw error
      warnings.push(`${foundIn[0] ?? 'pod'}: ${error.message}`)
      return []
    }
  })
  return {wanted, warnings}
}
