import {readFile, stat} from 'node:fs/promises'
import {join} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import type {MirrorFiles} from '../../model/mirror.ts'
import type {FoundImage} from '../../registry/images/shapes.ts'
import type {Destination} from '../../registry/mirror/copy.ts'
import {editValues, overlayText, type Pin, readPrefix, rewriteImages} from '../../registry/mirror/values.ts'
import {parseTarget} from '../../registry/reference.ts'
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

interface Searched {
  readonly images: readonly FoundImage[]
  readonly warnings: readonly string[]
  readonly prefix: string | undefined
}

/** `mirror values`: an overlay, or a user's file edited in place of one. Nothing is contacted. */
export async function runValues(flags: ValuesFlags): Promise<MirrorFiles> {
  const destination: Destination = {to: parseTarget(flags.to), layout: flags.layout}
  const plan = flags['plan-file'] === undefined ? undefined : await planOf(flags['plan-file'])
  const {images, warnings, prefix: usualPrefix} = await search(flags)
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
  return {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'MirrorValues',
    exitCode: 0,
    changed: writes,
    warnings,
    files: [{name, content, ...(old === undefined ? {} : {before: old})}],
    notes: [...notes, "not rendered: check with helm template that every image is the mirror's"],
  }
}

async function search(flags: ValuesFlags): Promise<Searched> {
  const [{readChartFolder, readPackagedChart, searchChart}, {findImages}, {parseTextValues, valueAt}] =
    await Promise.all([
      import('../../registry/images/chart.ts'),
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
    const found = await searchChart(await readChartFolder(join(folder, 'charts', name)), name, below)
    return {images: found.images, warnings: warningsOf(found), prefix: name}
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
    return {images: found.images, warnings: warningsOf(found), prefix: undefined}
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
