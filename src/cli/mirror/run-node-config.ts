import {mkdir, readFile} from 'node:fs/promises'
import {dirname, join} from 'node:path'
import type {KubeClient} from '../../kube/types.ts'
import {SrcipError} from '../../model/errors.ts'
import type {MirrorFiles} from '../../model/mirror.ts'
import {
  nodeConfig,
  nodeConfigNotes,
  type NodeConfigOptions,
  type Runtime,
  runtimeOf,
} from '../../registry/mirror/node-config.ts'
import {parseTarget} from '../../registry/reference.ts'
import type {PathLayout} from '../../registry/target.ts'
import {writeText} from './run-plan.ts'
import {planOf} from './session.ts'

export interface NodeConfigFlags {
  readonly to: string
  readonly layout: PathLayout
  readonly 'plan-file': string
  readonly runtime: readonly (Runtime | 'auto')[]
  readonly 'plain-http': boolean
  readonly 'node-ca'?: string | undefined
  readonly login: boolean
  readonly fallback: boolean
  readonly 'output-dir'?: string | undefined
  readonly 'dry-run': 'none' | 'client' | 'server'
}

/** `mirror node-config`: the files that make nodes pull a plan's images from the mirror. */
export async function runNodeConfig(
  flags: NodeConfigFlags,
  cluster: () => Promise<KubeClient>,
  signal: AbortSignal,
): Promise<MirrorFiles> {
  const plan = await planOf(flags['plan-file'])
  const options: NodeConfigOptions = {
    to: parseTarget(flags.to),
    layout: flags.layout,
    plainHttp: flags['plain-http'],
    caPath: flags['node-ca'],
    login: flags.login,
    fallback: flags.fallback,
  }
  const chosen = flags.runtime.includes('auto')
    ? await runtimesOf(await cluster(), signal)
    : (flags.runtime as readonly Runtime[])
  const files = (await Promise.all([...new Set(chosen)].map((runtime) => nodeConfig(plan, runtime, options)))).flat()
  const folder = flags['output-dir']
  const placed = await Promise.all(
    files.map(async ({name, content}) => {
      const path = folder === undefined ? name : join(folder, name)
      const before = folder === undefined ? undefined : await readFile(path, 'utf8').catch(() => undefined)
      return {name: path, content, ...(before === undefined ? {} : {before})}
    }),
  )
  const different = placed.filter(({content, before}) => before !== content)
  const writes = folder !== undefined && flags['dry-run'] === 'none'
  if (writes) {
    for (const {name, content} of different) {
      await mkdir(dirname(name), {recursive: true})
      await writeText(name, content)
    }
  }
  return {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'MirrorNodeConfig',
    exitCode: 0,
    changed: writes && different.length > 0,
    warnings: [],
    files: placed,
    notes: [...new Set(chosen.flatMap((runtime) => nodeConfigNotes(plan, runtime, options)))],
  }
}

interface NodeShape {
  readonly metadata?: {readonly name?: string}
  readonly status?: {
    readonly nodeInfo?: {
      readonly containerRuntimeVersion?: string
      readonly osImage?: string
      readonly kubeletVersion?: string
    }
  }
}

async function runtimesOf(client: KubeClient, signal: AbortSignal): Promise<Runtime[]> {
  const {resources} = await import('../../kube/resources.ts')
  const {items} = await client.list<NodeShape>(resources.nodes, {signal})
  const runtimes = items.map(({metadata, status}) => {
    const runtime = runtimeOf(status?.nodeInfo ?? {})
    if (runtime === undefined) {
      const version = status?.nodeInfo?.containerRuntimeVersion ?? 'nothing'
      const docker = version.startsWith('docker://') ? ': dockerd mirrors Docker Hub only' : ''
      throw new SrcipError(
        'Precondition',
        `node/${metadata?.name} runs ${version}, which takes no mirror that is known here${docker}`,
        {hints: ['rewrite the values instead: mirror values']},
      )
    }
    return runtime
  })
  if (runtimes.length === 0)
    throw new SrcipError('Precondition', 'the cluster has no nodes', {hints: ['say --runtime']})
  return runtimes
}
