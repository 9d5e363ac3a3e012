import {readdir, readFile, lstat} from 'node:fs/promises'
import {join, relative} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import {limits} from '../limits.ts'
import {scanTar} from '../layout/tar-format.ts'
import {findImages, formatPath, imagesInText, type ImageSearch, splitReference, type TextValue} from './shapes.ts'
import {mergeValues, parseTextValues, valueAt} from './values-text.ts'

/** The text files of a chart by path below the chart's own folder. */
export type ChartFiles = ReadonlyMap<string, string>

/** Only these are looked at: metadata, values and templates, also of subcharts. */
function isWanted(path: string): boolean {
  return (
    /(?:^|\/)(?:Chart\.ya?ml|values\.yaml|requirements\.yaml)$/.test(path) ||
    /(?:^|\/)templates\/.+\.(?:ya?ml|tpl|txt)$/.test(path) ||
    /(?:^|\/)crds\/.+\.ya?ml$/.test(path)
  )
}

/**
 * Reads a packaged chart in memory: nothing is written, sizes are limited before and after decompression.
 * @throws SrcipError Precondition for archives that are too large, or with links and the like
 */
export async function readPackagedChart(bytes: Buffer, from: string): Promise<ChartFiles> {
  if (bytes.length > limits.chartIn)
    throw new SrcipError('Precondition', `${from}: a chart of ${bytes.length} bytes is larger than ${limits.chartIn}`)
  const tar = await gunzip(bytes, from)
  const read = async (offset: number, length: number): Promise<Buffer> => tar.subarray(offset, offset + length)
  const entries = await scanTar(from, read, tar.length)
  if (entries.length > limits.chartEntries)
    throw new SrcipError('Precondition', `${from}: more than ${limits.chartEntries} files`)
  const files = new Map<string, string>()
  for (const entry of entries) {
    const path = entry.name.split('/').slice(1).join('/')
    if (!entry.folder && isWanted(path)) files.set(path, tar.toString('utf8', entry.offset, entry.offset + entry.size))
  }
  return files
}

async function gunzip(bytes: Buffer, from: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  const {createGunzip} = await import('node:zlib')
  const stream = createGunzip()
  stream.end(bytes)
  try {
    for await (const chunk of stream) {
      length += (chunk as Buffer).length
      if (length > limits.chartOut)
        throw new SrcipError('Precondition', `${from}: unpacks to more than ${limits.chartOut} bytes`)
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    throw error instanceof SrcipError
      ? error
      : new SrcipError('Precondition', `${from} is no gzip archive`, {cause: error})
  }
  return Buffer.concat(chunks, length)
}

/** Reads a chart that lies unpacked in a folder; links are not followed. */
export async function readChartFolder(folder: string): Promise<ChartFiles> {
  const files = new Map<string, string>()
  const visit = async (place: string): Promise<void> => {
    for (const entry of (await readdir(place, {withFileTypes: true})).sort((one, other) =>
      one.name < other.name ? -1 : 1,
    )) {
      const path = join(place, entry.name)
      if (entry.isDirectory()) await visit(path)
      else if (entry.isFile() && isWanted(relative(folder, path)) && (await lstat(path)).size <= limits.manifest) {
        files.set(relative(folder, path).split('\\').join('/'), await readFile(path, 'utf8'))
      }
      if (files.size > limits.chartEntries)
        throw new SrcipError('Precondition', `${folder}: more than ${limits.chartEntries} files`)
    }
  }
  await visit(folder)
  if (!files.has('Chart.yaml'))
    throw new SrcipError('Usage', `${folder} is no chart: Chart.yaml is missing`, {object: folder})
  return files
}

export interface ChartImages extends ImageSearch {
  readonly name: string
  readonly version: string
  readonly appVersion: string | undefined
  /** Chart values with the given ones laid over them. */
  readonly values: TextValue
  /** Templates that use a tag in a label or compare it as a version: a digest in the tag would break them. */
  readonly tagUses: readonly string[]
}

function text(value: TextValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

async function yamlFile(files: ChartFiles, path: string, from: string): Promise<TextValue> {
  const content = files.get(path)
  return content === undefined ? {} : ((await parseTextValues(content, `${from}: ${path}`))[0] ?? {})
}

/** Values as the chart's templates see them: subcharts under their name or alias, below what the parent says. */
async function valuesOf(files: ChartFiles, prefix: string, from: string, depth: number): Promise<TextValue> {
  const own = await yamlFile(files, `${prefix}values.yaml`, from)
  if (depth > 5) return own
  const chart = await yamlFile(files, `${prefix}Chart.yaml`, from)
  const dependencies = valueAt(chart, ['dependencies'])
  const names = new Set(
    [...files.keys()].flatMap((path) =>
      path.startsWith(`${prefix}charts/`) ? [path.slice(prefix.length + 7).split('/')[0] ?? ''] : [],
    ),
  )
  let below: TextValue = {}
  for (const name of names) {
    const uses = (Array.isArray(dependencies) ? dependencies : []).filter(
      (one: TextValue) => text(valueAt(one, ['name'])) === name,
    )
    const keys = uses.length === 0 ? [name] : uses.map((one: TextValue) => text(valueAt(one, ['alias'])) ?? name)
    const values = await valuesOf(files, `${prefix}charts/${name}/`, from, depth + 1)
    const appVersion = text(valueAt(await yamlFile(files, `${prefix}charts/${name}/Chart.yaml`, from), ['appVersion']))
    for (const key of keys) below = mergeValues(below, {[key]: withAppVersion(values, appVersion)})
  }
  return mergeValues(below, own)
}

/** Marks which appVersion stands in for an empty tag below this point; read by `searchChart`. */
const appVersionMark = '\u0000appVersion'

function withAppVersion(values: TextValue, appVersion: string | undefined): TextValue {
  return appVersion === undefined ? values : mergeValues(values, {[appVersionMark]: appVersion})
}

function searchMarked(
  values: TextValue,
  appVersion: string | undefined,
  globalRegistry: string | undefined,
  path: readonly (string | number)[],
): ImageSearch {
  if (typeof values !== 'object' || Array.isArray(values)) return {images: [], suspected: []}
  const {[appVersionMark]: mark, ...rest} = values as Record<string, TextValue>
  const current = text(mark) ?? appVersion
  const marked = Object.entries(rest).filter(
    ([, value]) => typeof value === 'object' && !Array.isArray(value) && Object.hasOwn(value, appVersionMark),
  )
  const plain = Object.fromEntries(Object.entries(rest).filter(([key]) => !marked.some(([name]) => name === key)))
  const options = {
    ...(current === undefined ? {} : {appVersion: current}),
    ...(globalRegistry === undefined ? {} : {globalRegistry}),
  }
  const own = findImages(plain, options)
  const parts = [own, ...marked.map(([key, value]) => prefixed(searchMarked(value, current, globalRegistry, []), key))]
  return prefixed(
    {images: parts.flatMap(({images}) => images), suspected: parts.flatMap(({suspected}) => suspected)},
    ...path,
  )
}

function prefixed(search: ImageSearch, ...path: readonly (string | number)[]): ImageSearch {
  if (path.length === 0) return search
  return {
    images: search.images.map((image) => ({...image, path: [...path, ...image.path]})),
    suspected: search.suspected.map((one) => ({...one, path: [...path, ...one.path]})),
  }
}

/**
 * Every image that a chart can render with these values, in every mode and hook: read from the values, not from one rendering,
 * and from literals in templates.
 */
export async function searchChart(
  files: ChartFiles,
  from: string,
  over: readonly TextValue[] = [],
): Promise<ChartImages> {
  const chart = await yamlFile(files, 'Chart.yaml', from)
  const name = text(valueAt(chart, ['name']))
  if (name === undefined) throw new SrcipError('Usage', `${from}: Chart.yaml names no chart`, {object: from})
  const appVersion = text(valueAt(chart, ['appVersion']))
  const values = over.reduce(mergeValues, await valuesOf(files, '', from, 0))
  const globalRegistry =
    text(valueAt(values, ['global', 'imageRegistry'])) ??
    text(valueAt(values, ['global', 'image', 'registry'])) ??
    text(valueAt(values, ['_cluster', 'images-registry']))
  const search = searchMarked(values, appVersion, globalRegistry, [])
  const literals = [...files].flatMap(([path, content]) =>
    isTemplate(path) ? literalImages(content).map((reference) => ({path: [path], reference})) : [],
  )
  const known = new Set(search.images.map(({reference}) => reference))
  const fromTemplates = literals.filter(({reference}) => !known.has(reference))
  return {
    name,
    version: text(valueAt(chart, ['version'])) ?? '',
    appVersion,
    values,
    images: [
      ...search.images,
      ...fromTemplates.map(({path, reference}) => ({shape: 'string' as const, path: [...path, 'image'], reference})),
    ],
    suspected: search.suspected,
    tagUses: [...files].flatMap(([path, content]) => (isTemplate(path) ? tagUses(path, content) : [])),
  }
}

function isTemplate(path: string): boolean {
  return /(?:^|\/)templates\/.+\.(?:ya?ml|tpl)$/.test(path)
}

/** References written out in a template: on an `image:` line, or as the text of a `default`. */
function literalImages(template: string): string[] {
  const found = new Set<string>()
  for (const line of template.split('\n')) {
    if (/^\s*(?:#|\{\{-?\s*\/\*)/.test(line)) continue
    const literal = /^\s*-?\s*image:\s*["']?([^\s"'{}]+)["']?\s*$/.exec(line)?.[1]
    if (literal !== undefined && splitReference(literal).name !== literal) found.add(literal)
    for (const [, quoted = ''] of line.matchAll(/default\s+"([^"]+)"/g))
      for (const reference of imagesInText(quoted)) found.add(reference)
  }
  return [...found]
}

/** Lines where a digest inside the tag would not be legal: labels (no `@` or `:`), and version comparisons. */
function tagUses(path: string, template: string): string[] {
  return template.split('\n').flatMap((line, at) => {
    const used =
      /\.tag\b/.test(line) && /app\.kubernetes\.io\/version|semverCompare|helm\.sh\/chart|^\s*version:/.test(line)
    return used ? [`${path}:${at + 1}`] : []
  })
}

/** `file: path` of a found image. */
export function whereFound(from: string, path: readonly (string | number)[]): string {
  return `${from}: ${formatPath(path)}`
}
