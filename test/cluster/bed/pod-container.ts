import {closeSync, realpathSync} from 'node:fs'
import {dirname, join} from 'node:path'
import type {Actor} from './actor.ts'
import {logPipe} from './log-pipe.ts'
import {insideEnvironment, type Inside} from './namespaces.ts'
import type {Container, Pod} from './objects.ts'
import {fieldOf} from './volumes.ts'

/** What stands behind an image of the bed: the program that its entry point is, and its environment. */
export type Image = {
  env?: Record<string, string>
  /** `$(BED_FOLDER)` in it stands for the pod's folder on this machine. */
  entrypoint: string[]
  /** The program of the bed takes none of the arguments that the real one has. */
  ignoresArguments?: boolean
  /** Called before the container starts, to write files that the program reads. */
  prepare?: (pod: Pod, folder: string) => Promise<void> | void
}

/** A started container. */
export type RunningContainer = {
  name: string
  inside: Inside
  log: string
  startedAt: string
  restart: number
}

/** Where the volumes of a pod lie on this machine, by name. */
export type VolumeFolders = ReadonlyMap<string, string>

/**
 * Starts a container's program in the pod's network, with its own mounts and its own environment; what it prints goes
 * to a log file, one time stamp a line, as container runtimes keep it.
 */
export async function startContainer(
  actor: Actor,
  pod: Pod,
  container: Container,
  settings: {image: Image; volumes: VolumeFolders; serviceEnv: Record<string, string>; restart: number},
): Promise<RunningContainer> {
  const {image, volumes, serviceEnv, restart} = settings
  await image.prepare?.(pod, actor.folder)
  const variables = environment(actor, pod, container, {...serviceEnv, ...image.env})
  const known: Record<string, string> = {...variables, BED_FOLDER: actor.folder}
  const expand = (word: string) =>
    word.replaceAll(/\$\(([A-Za-z_][\w.-]*)\)/g, (whole, name: string) => known[name] ?? whole)
  const given = image.ignoresArguments === true ? [] : (container.args ?? [])
  const argv = [...(container.command ?? image.entrypoint), ...given].map(expand)
  const script = ['set -e', ...mountLines(container, volumes), `cd ${quoted(container.workingDir ?? '/')}`, 'exec "$@"']
  const unshare = ['unshare', '--mount', '--propagation', 'private', '--']
  const log = join(actor.folder, `${container.name}.${restart}.log`)
  const output = logPipe(log)
  const inside = await actor.start([...unshare, 'sh', '-c', script.join('\n'), 'sh', ...argv], {env: variables, output})
  closeSync(output)
  inside.child.stdin?.on('error', () => {})
  inside.child.stdin?.end()
  return {name: container.name, inside, log, startedAt: new Date().toISOString(), restart}
}

function environment(
  actor: Actor,
  pod: Pod,
  container: Container,
  base: Record<string, string>,
): Record<string, string> {
  const variables = insideEnvironment({HOME: '/run', HOSTNAME: pod.spec.hostname ?? pod.metadata.name, ...base})
  for (const {name, value, valueFrom} of container.env ?? []) {
    variables[name] =
      valueFrom?.fieldRef === undefined ? (value ?? '') : fieldOf(pod, valueFrom.fieldRef.fieldPath, actor.address)
  }
  return variables
}

/** Shell lines that mount the container's volumes, outer mount points first. */
function mountLines(container: Container, volumes: VolumeFolders): string[] {
  const mounts = (container.volumeMounts ?? []).toSorted((a, b) => a.mountPath.length - b.mountPath.length)
  return mounts.flatMap(({name, mountPath, subPath}) => {
    const volume = volumes.get(name)
    if (volume === undefined) throw new Error(`container ${container.name} mounts the unknown volume ${name}`)
    const target = quoted(mountPath)
    if (subPath === undefined) return [`mkdir -p ${target}`, `mount --bind ${quoted(volume)} ${target}`]
    // A subPath is resolved once, when the container starts: later content never reaches it. As in kubelet.
    const source = quoted(realpathSync(join(volume, subPath)))
    return [
      `mkdir -p ${quoted(dirname(mountPath))}`,
      `[ -d ${source} ] && mkdir -p ${target} || touch ${target}`,
      `mount --bind ${source} ${target}`,
    ]
  })
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
