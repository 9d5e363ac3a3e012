import {execFile} from 'node:child_process'
import {access, constants, mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {delimiter, join} from 'node:path'
import {type ChartMode, imagesInManifests, mostModes} from '../../registry/images/modes.ts'
import {cleanText} from '../../registry/text.ts'

const renderTimeout = 30_000
const largestRendering = 64 * 1024 * 1024
const atOnce = 4

/** What is rendered: a chart (folder or .tgz), values files laid over it, and one more that is not on the disk yet. */
export interface Rendering {
  readonly chart: string
  readonly valuesFiles: readonly string[]
  readonly overlay: string
  readonly modes: readonly ChartMode[]
}

export interface Rendered {
  /** Images with the first mode that each was seen in. */
  readonly images: ReadonlyMap<string, string>
  readonly modes: number
  /** Why some mode was not rendered. */
  readonly failures: readonly string[]
}

/** Helm as the plugin's caller names it (`HELM_BIN`), or as PATH has it. */
export async function findHelm(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const named = env['HELM_BIN']
  const places = (env['PATH'] ?? '').split(delimiter).filter((place) => place !== '')
  for (const path of [
    ...(named === undefined || named === '' ? [] : [named]),
    ...places.map((place) => join(place, 'helm')),
  ]) {
    const usable = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (usable) return path
  }
  return undefined
}

/** Renders a chart in each mode and collects its images. Nothing is contacted; the overlay lies in a folder of ours meanwhile. */
export async function renderImages(helm: string, {chart, valuesFiles, overlay, modes}: Rendering): Promise<Rendered> {
  const folder = await mkdtemp(join(tmpdir(), 'srcip-values-'))
  const images = new Map<string, string>()
  const failures: string[] = []
  try {
    const last = join(folder, 'values.yaml')
    await writeFile(last, overlay, {mode: 0o600})
    const files = [...valuesFiles, last].flatMap((file) => ['-f', file])
    const waiting = modes.slice(0, mostModes)
    const worker = async (): Promise<void> => {
      for (let mode = waiting.shift(); mode !== undefined; mode = waiting.shift()) {
        const {code, output} = await helmTemplate(helm, [chart, ...files, ...mode.set], folder)
        if (code !== 0) failures.push(`${mode.name}: ${cleanText(output, 300)}`)
        else for (const image of imagesInManifests(output)) if (!images.has(image)) images.set(image, mode.name)
      }
    }
    await Promise.all(Array.from({length: atOnce}, worker))
    return {images, modes: Math.min(modes.length, mostModes), failures}
  } finally {
    await rm(folder, {recursive: true, force: true})
  }
}

function helmTemplate(helm: string, args: readonly string[], home: string): Promise<{code: number; output: string}> {
  return new Promise((resolve) => {
    execFile(
      helm,
      ['template', 'srcip-check', ...args],
      {
        timeout: renderTimeout,
        maxBuffer: largestRendering,
        env: {PATH: process.env['PATH'] ?? '', HOME: home, HELM_NO_PLUGINS: '1', KUBECONFIG: join(home, 'none')},
      },
      (error, stdout, stderr) =>
        resolve(error === null ? {code: 0, output: stdout} : {code: 1, output: stderr === '' ? error.message : stderr}),
    )
  })
}
