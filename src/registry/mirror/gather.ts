import {access, readFile} from 'node:fs/promises'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {SrcipError} from '../../model/errors.ts'
import type {RegistryClient} from '../client.ts'
import {readBlob} from '../download.ts'
import type {Found} from '../images/input.ts'
import type {TextValue} from '../images/shapes.ts'
import {mediaTypes} from '../media-types.ts'
import {mappedPlace, type SourceMap, type Wanted} from '../plan/planner.ts'
import {formatReference, parseReference, type Reference, repositoryName} from '../reference.ts'
import {Repository} from '../repository.ts'

/** What reads files and charts: not loaded for a plain list of references. */
const reading = () => import('./reading.ts')

/** Where the things to carry are named. */
export interface GatherOptions {
  readonly references: readonly string[]
  readonly files: readonly string[]
  /** Values laid over the chart's own, in order. */
  readonly valuesFiles: readonly string[]
  /** Folder of a Cozystack release. */
  readonly cozystack?: string | undefined
  /** Add this product's own chart and image. */
  readonly own: boolean
  /** Images that live Pods run, read by the caller. */
  readonly live?: Found | undefined
  readonly sourceMap: readonly SourceMap[]
  /** No registry is asked: a chart that is not on the disk is named, and what it renders is not. */
  readonly offline?: boolean
}

/** Collects everything to carry, from every source that was given. Reads charts from their registry where they are not on the disk. */
export async function gather(client: RegistryClient, options: GatherOptions): Promise<Found> {
  const overlays = (
    await Promise.all(
      options.valuesFiles.map(async (path) => (await reading()).parseTextValues(await textOf(path), path)),
    )
  ).flat()
  const parts: Found[] = []
  for (const text of options.references) {
    const reference = parseReference(text)
    parts.push({wanted: [{reference, foundIn: ['argument']}], warnings: []})
    if (reference.chart)
      parts.push(
        options.offline === true
          ? unread(formatReference(reference))
          : await imagesOfChart(client, reference, overlays, options.sourceMap),
      )
  }
  for (const path of options.files) parts.push(await (await reading()).readInput(path, overlays))
  if (options.cozystack !== undefined) parts.push(await platformImages(client, options.cozystack, overlays, options))
  if (options.own) parts.push(await ownImages(overlays))
  if (options.live !== undefined) parts.push(options.live)
  return {wanted: parts.flatMap(({wanted}) => wanted), warnings: [...new Set(parts.flatMap(({warnings}) => warnings))]}
}

function unread(chart: string): Found {
  return {
    wanted: [],
    warnings: [`the images of chart ${chart} are not listed: --dry-run=client asks no registry for it`],
  }
}

async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SrcipError('Usage', `${path} cannot be read: ${error.code}`, {object: path, cause: error})
  })
}

/** A chart in a registry named as an argument: itself, and the images that it can render. */
async function imagesOfChart(
  client: RegistryClient,
  reference: Reference,
  overlays: readonly TextValue[],
  sourceMap: readonly SourceMap[],
): Promise<Found> {
  const {searchChart, wantedOf} = await reading()
  const {withVersion} = await import('../plan/planner.ts')
  const {reference: exact} = await withVersion(client, {reference, foundIn: []}, sourceMap)
  const from = `oci://${formatReference(exact)}`
  const chart = await searchChart(await fetchChart(client, exact, sourceMap), from, overlays)
  return wantedOf(chart, from)
}

/** Downloads the chart archive of a chart's manifest. */
async function fetchChart(client: RegistryClient, reference: Reference, sourceMap: readonly SourceMap[]) {
  const {readPackagedChart} = await reading()
  const place = mappedPlace(reference.host, reference.repository, sourceMap)
  const repository = new Repository(client, place.host, place.repository, 'pull')
  const manifest = await repository.manifest(reference.digest ?? reference.tag ?? '')
  const layer = manifest.blobs.find(
    ({mediaType}) => mediaType === mediaTypes.helmChart || mediaType === mediaTypes.helmChartOld,
  )
  if (layer === undefined)
    throw new SrcipError('Precondition', `${formatReference(reference)} is no Helm chart: it has no chart layer`)
  return readPackagedChart(await readBlob(repository, layer), formatReference(reference))
}

/** The chart that a Cozystack release pins, and every image it can render with the release's values. */
async function platformImages(
  client: RegistryClient,
  release: string,
  overlays: readonly TextValue[],
  {sourceMap, offline}: Pick<GatherOptions, 'sourceMap' | 'offline'>,
): Promise<Found> {
  const {readChartFolder, readPlatformPackage, searchChart, valueAt, wantedOf} = await reading()
  const {folder, chart, values, valuesFile} = await readPlatformPackage(release)
  const name = chart.repository.split('/').at(-1) ?? ''
  const vendored = join(folder, 'charts', name)
  const files = await readChartFolder(vendored).catch(async (error: unknown) => {
    if (!(error instanceof SrcipError) && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return offline === true ? undefined : fetchChart(client, chart, sourceMap)
  })
  const own: Wanted = {reference: {...chart, chart: true}, foundIn: [join(folder, 'Makefile')]}
  if (files === undefined) return {...unread(formatReference(chart)), wanted: [own]}
  const below = [values, ...overlays]
    .map((one) => valueAt(one, [name]))
    .filter((one): one is TextValue => one !== undefined)
  const search = await searchChart(files, `${valuesFile} (${repositoryName(chart)})`, below)
  const found = wantedOf(search, valuesFile)
  return {wanted: [own, ...found.wanted], warnings: found.warnings}
}

/** Folder of the chart that is shipped with this product: beside src in a checkout, beside dist in a package. */
async function ownChart(): Promise<string> {
  for (const up of ['../charts/srcip/', '../../charts/srcip/', '../../../charts/srcip/']) {
    const folder = fileURLToPath(new URL(up, import.meta.url))
    if (
      await access(join(folder, 'Chart.yaml')).then(
        () => true,
        () => false,
      )
    )
      return folder
  }
  throw new SrcipError('Precondition', 'the chart of this product is not beside it', {
    hints: ['leave it out with --no-own'],
  })
}

/**
 * This product's own image and chart, as the chart that is shipped with it and the values given name them. Where they name
 * none (everybody publishes in a place of their own) that is said, not passed over.
 */
export async function ownImages(overlays: readonly TextValue[] = []): Promise<Found> {
  const {parseTextValues, readChartFolder, searchChart, valueAt, wantedOf} = await reading()
  const files = await readChartFolder(await ownChart())
  const own = overlays.map((one) => valueAt(one, ['srcip']) ?? one)
  const search = await searchChart(files, 'charts/srcip', own)
  const [chart = {}] = await parseTextValues(files.get('Chart.yaml') ?? '', 'charts/srcip/Chart.yaml')
  const home = valueAt(chart, ['annotations', 'srcip.dev/oci-repository'])
  const found = wantedOf(search, 'charts/srcip/values.yaml')
  const chartReference =
    typeof home === 'string'
      ? [
          {
            reference: parseReference(`oci://${home.replace(/^oci:\/\//, '')}:${search.version}`),
            foundIn: ['charts/srcip/Chart.yaml'],
          },
        ]
      : []
  const missing = [
    ...(found.wanted.length === 0
      ? [
          'the image of srcip itself is not planned: give its repository and digest with --values, or leave it out with --no-own',
        ]
      : []),
    ...(chartReference.length === 0
      ? [
          `the chart of srcip itself is not planned: name it as oci://HOST/PATH:${search.version}, or leave it out with --no-own`,
        ]
      : []),
  ]
  return {wanted: [...chartReference, ...found.wanted], warnings: [...found.warnings, ...missing]}
}
