import {readFile, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import type {MirrorFiles} from '../../model/mirror.ts'
import type {ChartMode} from '../../registry/images/modes.ts'
import type {FoundImage} from '../../registry/images/shapes.ts'
import type {Destination} from '../../registry/mirror/copy.ts'
import {editValues, overlayText, type Pin, readPrefix, rewriteImages} from '../../registry/mirror/values.ts'
import {parseTarget} from '../../registry/reference.ts'
import {cleanText} from '../../registry/text.ts'
import type {PathLayout} from '../../registry/target.ts'
import {planOf} from './session.ts'
import {writeText} from './run-plan.ts'

export interface ValuesFlags {
  readonly to: string
  readonly layout: PathLayout
  readonly 'plan-file'?: string | undefined
  readonly filename?: string | undefined
  readonly values?: string[] | undefined
  readonly cozystack?: string | undefined
  readonly pin: Pin
  readonly platform?: string | undefined
  readonly 'values-prefix'?: string | undefined
  readonly 'values-in'?: string | undefined
  readonly 'pull-secret-name'?: string | undefined
  readonly 'output-file'?: string | undefined
  readonly 'dry-run': 'none' | 'client' | 'server'
}

/** The chart that can be rendered, and how. */
interface Renderable {
  readonly chart: string
  readonly modes: readonly ChartMode[]
}

interface Searched {
  readonly renderable?: Renderable
  readonly images: readonly FoundImage[]
  readonly warnings: readonly string[]
  readonly prefix: string | undefined
}

/** `mirror values`: an overlay, or a user's file edited in place of one. Nothing is contacted. */
export async function runValues(flags: ValuesFlags): Promise<MirrorFiles> {
  const destination: Destination = {to: parseTarget(flags.to), layout: flags.layout}
  const plan = flags['plan-file'] === undefined ? undefined : await planOf(flags['plan-file'])
  const {images, warnings, prefix: usualPrefix, renderable} = await search(flags)
  if (images.length === 0) throw new SrcipError('Precondition', 'no image was found in these values')
  const {changes, notes} = rewriteImages(images, {destination, pin: flags.pin, plan, platform: flags.platform})
  const prefix = readPrefix(flags['values-prefix'] ?? usualPrefix)
  const into = flags['values-in']
  const before = into === undefined ? undefined : await readText(into)
  const content =
    before === undefined
      ? await overlayText(changes, prefix, flags['pull-secret-name'])
      : await editValues(before, changes, prefix, into ?? '')
  const name = flags['output-file'] ?? into ?? 'values-mirror.yaml'
  const written = flags['output-file']
  const old = before ?? (written === undefined ? undefined : await readText(written).catch(() => undefined))
  const writes = written !== undefined && old !== content && flags['dry-run'] === 'none'
  if (writes) await writeText(written, content)
  const check = await checkRendering(renderable, flags, content, destination)
  return {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'MirrorValues',
    exitCode: check.failed ? 22 : 0,
    changed: writes,
    warnings: [...warnings, ...check.warnings],
    files: [{name, content, ...(old === undefined ? {} : {before: old})}],
    notes: [...notes, ...check.notes],
  }
}

interface Checked {
  readonly failed: boolean
  readonly warnings: readonly string[]
  readonly notes: readonly string[]
}

/** Renders the chart with the new values, in every mode, where Helm is there: each image has to be the mirror's. */
async function checkRendering(
  renderable: Renderable | undefined,
  flags: ValuesFlags,
  overlay: string,
  {to}: Destination,
): Promise<Checked> {
  const unchecked = (why: string): Checked => ({
    failed: false,
    warnings: [],
    notes: [`not rendered (${why}): check with helm template that every image is the mirror's`],
  })
  if (renderable === undefined) return unchecked('these are values without a chart')
  const {findHelm, renderImages} = await import('./helm-check.ts')
  const helm = await findHelm(process.env)
  if (helm === undefined) return unchecked('helm is not on PATH')
  const {images, modes, failures} = await renderImages(helm, {
    ...renderable,
    valuesFiles: flags.values ?? [],
    overlay,
  })
  if (images.size === 0) return unchecked(failures[0] ?? 'no image in what helm renders')
  const wrong = [...images].flatMap(([image, mode]) => {
    if (!image.startsWith(`${to.host}/`))
      return [`helm renders ${cleanText(image)} (${mode}), which is not the mirror's`]
    return flags.pin === 'none' || image.includes('@')
      ? []
      : [`helm renders ${cleanText(image)} (${mode}) without a digest`]
  })
  return {
    failed: wrong.length > 0,
    warnings: wrong,
    notes: [
      ...(wrong.length > 0 ? [] : [`rendered by helm in ${modes} modes, hooks included: every image is the mirror's`]),
      ...failures.map((failure) => `not rendered: ${failure}`),
    ],
  }
}

async function search(flags: ValuesFlags): Promise<Searched> {
  const [{readChartFolder, readPackagedChart, searchChart}, {chartModes}, {findImages}, {parseTextValues, valueAt}] =
    await Promise.all([
      import('../../registry/images/chart.ts'),
      import('../../registry/images/modes.ts'),
      import('../../registry/images/shapes.ts'),
      import('../../registry/images/values-text.ts'),
    ])
  const overlays = (
    await Promise.all((flags.values ?? []).map(async (path) => parseTextValues(await readText(path), path)))
  ).flat()
  if (flags.cozystack !== undefined) {
    const {readPlatformPackage} = await import('../../registry/images/cozystack.ts')
    const {folder, chart, values} = await readPlatformPackage(flags.cozystack)
    const name = chart.repository.split('/').at(-1) ?? ''
    const below = [values, ...overlays].map((one) => valueAt(one, [name])).filter((one) => one !== undefined)
    const files = await readChartFolder(join(folder, 'charts', name))
    const found = await searchChart(files, name, below)
    const renderable = {chart: folder, modes: chartModes(files, found.values, [name])}
    return {images: found.images, warnings: warningsOf(found), prefix: name, renderable}
  }
  const path = flags.filename
  if (path === undefined)
    throw new SrcipError('Usage', 'values or a chart are needed', {
      hints: ['-f values.yaml, -f CHART, or --cozystack PATH'],
    })
  const chartFolder = (await stat(path).catch(() => undefined))?.isDirectory() === true
  if (chartFolder || /\.t(?:ar\.)?gz$/.test(path)) {
    const files = chartFolder ? await readChartFolder(path) : await readPackagedChart(await readFile(path), path)
    const found = await searchChart(files, path, overlays)
    // Values for a wrapper do not fit the chart itself.
    const fits = flags['values-prefix'] === undefined || flags['values-prefix'] === ''
    const renderable = fits ? {chart: path, modes: chartModes(files, found.values)} : undefined
    return {
      images: found.images,
      warnings: warningsOf(found),
      prefix: undefined,
      ...(renderable === undefined ? {} : {renderable}),
    }
  }
  const [values = {}] = await parseTextValues(await readText(path), path)
  const found = findImages(values)
  return {images: found.images, warnings: warningsOf({...found, tagUses: []}), prefix: undefined}
}

function warningsOf({
  suspected,
  tagUses,
}: {
  readonly suspected: readonly {readonly path: readonly (string | number)[]; readonly reference: string}[]
  readonly tagUses: readonly string[]
}): string[] {
  return [
    ...suspected.map(({path, reference}) => `${path.join('.')} holds ${reference}, which is not rewritten`),
    ...tagUses.map(
      (place) => `${place} uses an image tag as a label or version: a digest in that tag may not be legal there`,
    ),
  ]
}

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SrcipError('Usage', `${path} cannot be read: ${error.code}`, {object: path, cause: error})
  })
}
