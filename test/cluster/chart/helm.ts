import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {parseAllDocuments} from 'yaml'
import type {KubeObject} from '../bed/index.ts'
import {run} from '../bed/part-build.ts'

export const chartFolder = fileURLToPath(new URL('../../../charts/srcip', import.meta.url))
export const valuesFile = (name: string): string => fileURLToPath(new URL(`values/${name}.yaml`, import.meta.url))

/** The digest in the values files. */
export const image = `registry.example.org/srcip@sha256:${'3f'.repeat(32)}`

/** A home of Helm's own, so that no repository or plugin of the person's is seen. */
export class HelmHome {
  readonly folder = mkdtempSync(join(tmpdir(), 'srcip-helm-'))
  readonly #program: string

  constructor(program: string) {
    this.#program = program
  }

  async helm(...argv: string[]): Promise<{code: number; output: string}> {
    return await run(this.#program, argv, undefined, {
      HOME: this.folder,
      XDG_CACHE_HOME: '',
      KUBECONFIG: '/nonexistent',
    })
  }

  /** What `helm template` prints for these values; throws with Helm's message. */
  async template(values: string, ...more: string[]): Promise<string> {
    const {code, output} = await this.helm('template', 'srcip', chartFolder, '-n', 'srcip', '-f', values, ...more)
    if (code !== 0) throw new Error(output)
    return output
  }

  /** As `template`, for values as data. */
  async render(values: object): Promise<KubeObject[]> {
    const file = join(this.folder, 'values.json')
    writeFileSync(file, JSON.stringify(values))
    return objectsIn(await this.template(file))
  }

  remove(): void {
    rmSync(this.folder, {recursive: true, force: true})
  }
}

export function objectsIn(text: string): KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null)
}

/** The first pod template of rendered objects; throws when there is none. */
export function firstPodTemplate(objects: readonly KubeObject[]): {spec: Record<string, unknown>} {
  const [first] = podTemplates(objects)
  if (first === undefined) throw new Error('nothing with a pod template was rendered')
  return first
}

/** The pod templates of rendered objects, with the words that name each. */
export function podTemplates(
  objects: readonly KubeObject[],
): {of: string; metadata: object; spec: Record<string, unknown>}[] {
  return objects.flatMap((object) => {
    const template = (object['spec'] as {template?: {metadata: object; spec: Record<string, unknown>}} | undefined)
      ?.template
    return template === undefined ? [] : [{of: `${object.kind}/${object.metadata.name}`, ...template}]
  })
}
