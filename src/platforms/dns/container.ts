import type {ConfigMapView, ContainerView, DnsObjects, PodSpecView, VolumeView} from './objects.ts'
import {covers, normalizePath, pathBelow, resolvePath} from './paths.ts'

/** What was read of ConfigMaps. */
export type ReadMaps = Pick<DnsObjects, 'configMaps' | 'forbiddenMaps'>

/** A directory (or, with `file`, one file) of the container that a ConfigMap fills. */
export interface ConfigMount {
  /** Absolute path in the container: a directory, or a file when `live` is false because of `subPath`. */
  readonly path: string
  readonly namespace: string
  readonly configMap: string
  readonly optional: boolean
  readonly exists: boolean
  /** It may be there, but we must not read it. */
  readonly forbidden: boolean
  readonly uid?: string
  readonly resourceVersion?: string
  /** Bytes of all keys and values; a ConfigMap holds 1 MiB of them. */
  readonly size: number
  readonly immutable: boolean
  /** Keys that appear, and under which path below the volume; absent: every key under its own name. */
  readonly items?: readonly {readonly key: string; readonly path: string}[]
  readonly subPath?: string
  /** False: kubelet never updates this mount in a running pod (`subPath`). */
  readonly live: boolean
  /** Nothing but ConfigMaps fills the directory, so that every file in it is known. */
  readonly whole: boolean
}

/** One file of the container that comes from a ConfigMap. */
export interface MountedFile {
  readonly path: string
  readonly namespace: string
  readonly configMap: string
  readonly key: string
  /** Undefined: the key is binary. */
  readonly text?: string
  readonly live: boolean
}

/** Environment of the container; `undefined` as a value means: set, but not known outside the pod. */
export type ContainerEnvironment = ReadonlyMap<string, string | undefined>

/**
 * The Corefile that the container reads: `-conf`, else `Corefile` in the working directory (`/` in the image of CoreDNS).
 * `$(NAME)` is expanded as kubelet does, from the container's own environment.
 */
export function corefilePath(container: ContainerView, environment: ContainerEnvironment): string {
  const words = [...container.command, ...container.args]
  let path = 'Corefile'
  for (const [index, word] of words.entries()) {
    // Go's flag package takes -conf and --conf, with the value behind = or as the next word; the last one wins
    const match = /^--?conf(?:=(.*))?$/s.exec(word)
    if (match === null) continue
    const value = match[1] ?? words[index + 1]
    if (value !== undefined) path = value
  }
  return resolvePath(container.workingDir ?? '/', expandWord(path, environment))
}

/** kubelet's `$(NAME)` expansion: an unknown name stays as written, `$$(NAME)` escapes. */
function expandWord(word: string, environment: ContainerEnvironment): string {
  return word.replace(/\$\$|\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)/g, (whole, name: string | undefined) => {
    if (whole === '$$') return '$'
    return (name === undefined ? undefined : environment.get(name)) ?? whole
  })
}

/** Environment as far as the pod template and the given ConfigMaps tell it. Values out of Secrets stay unknown. */
export function containerEnvironment(
  container: ContainerView,
  namespace: string,
  configMaps: readonly ConfigMapView[],
): ContainerEnvironment {
  const environment = new Map<string, string | undefined>()
  for (const source of container.envFrom) {
    const found = source.configMap === undefined ? undefined : findConfigMap(configMaps, namespace, source.configMap)
    for (const [key, value] of Object.entries(found?.data ?? {})) environment.set(source.prefix + key, value)
  }
  for (const variable of container.env) {
    const ref = variable.configMapKey
    if (ref === undefined)
      environment.set(variable.name, variable.value === undefined ? undefined : expandWord(variable.value, environment))
    else {
      const found = findConfigMap(configMaps, namespace, ref.name)
      const value = found?.data[ref.key]
      if (value !== undefined || found === undefined || !ref.optional) environment.set(variable.name, value)
    }
  }
  return environment
}

/** True when some variables may exist that nobody outside the pod can name (`envFrom` a Secret, or a ConfigMap that was not read). */
export function hasHiddenEnvironment(
  container: ContainerView,
  namespace: string,
  configMaps: readonly ConfigMapView[],
): boolean {
  return container.envFrom.some(
    (source) => source.configMap === undefined || findConfigMap(configMaps, namespace, source.configMap) === undefined,
  )
}

/** Mounts of the container that ConfigMaps fill, deepest path first, so that the first that covers a path is the one that wins. */
export function configMounts(
  spec: PodSpecView,
  container: ContainerView,
  namespace: string,
  maps: ReadMaps,
): ConfigMount[] {
  const volumes = new Map<string, VolumeView>(spec.volumes.map((volume) => [volume.name, volume]))
  const mounts = container.mounts.flatMap((mount) =>
    (volumes.get(mount.volume)?.sources ?? []).flatMap((source): ConfigMount[] => {
      const from = source.configMap
      if (from === undefined || mount.subPathExpr) return []
      const found = findConfigMap(maps.configMaps, namespace, from.name)
      const forbidden = isForbidden(maps, namespace, from.name)
      const {uid, resourceVersion} = found?.metadata ?? {}
      return [
        {
          path: normalizePath(mount.path),
          namespace,
          configMap: from.name,
          optional: from.optional,
          exists: found !== undefined,
          forbidden,
          ...(uid === undefined ? {} : {uid}),
          ...(resourceVersion === undefined ? {} : {resourceVersion}),
          size: found === undefined ? 0 : sizeOf(found),
          immutable: found?.immutable === true,
          ...(from.items === undefined ? {} : {items: from.items}),
          ...(mount.subPath === undefined ? {} : {subPath: mount.subPath}),
          live: mount.subPath === undefined,
          whole:
            !forbidden &&
            mount.subPath === undefined &&
            volumes.get(mount.volume)?.sources.every((entry) => entry.configMap !== undefined) === true,
        },
      ]
    }),
  )
  return mounts.toSorted((left, right) => right.path.length - left.path.length)
}

/** Mount paths that something else than a ConfigMap fills: nothing below them can be known. */
export function opaqueMounts(spec: PodSpecView, container: ContainerView): string[] {
  const filled = new Set(
    spec.volumes
      .filter((volume) => volume.sources.every((source) => source.configMap !== undefined))
      .map((volume) => volume.name),
  )
  return container.mounts.filter((mount) => !filled.has(mount.volume)).map((mount) => normalizePath(mount.path))
}

/** Where a path of the container comes from: the mount and the key, or the reason why it is no ConfigMap's. */
export function sourceOfPath(
  path: string,
  spec: PodSpecView,
  container: ContainerView,
  mounts: readonly ConfigMount[],
): {readonly mount: ConfigMount; readonly key: string} | {readonly reason: string} {
  const covering = container.mounts
    .filter((mount) => covers(normalizePath(mount.path), path))
    .toSorted((left, right) => right.path.length - left.path.length)[0]
  if (covering === undefined) return {reason: `no volume is mounted over ${path}, so the Corefile is part of the image`}
  const candidates = mounts.filter((mount) => mount.path === normalizePath(covering.path))
  for (const mount of candidates) {
    const inVolume = joinVolumePath(mount.subPath, pathBelow(mount.path, path))
    const key =
      mount.items === undefined ? inVolume : mount.items.find((item) => normalizePath(item.path) === inVolume)?.key
    if (key !== undefined && key !== '' && !key.includes('/')) return {mount, key}
  }
  const volume = spec.volumes.find((entry) => entry.name === covering.volume)
  const types = volume?.sources.map((source) => source.type).join(', ') ?? 'missing'
  return {
    reason:
      candidates.length > 0
        ? `volume "${covering.volume}" has no item that becomes ${path}`
        : `${path} comes from volume "${covering.volume}" of type ${types}, not from a ConfigMap`,
  }
}

/** Every file that the mounted ConfigMaps put into the container, by path. */
export function mountedFiles(mounts: readonly ConfigMount[], configMaps: readonly ConfigMapView[]): MountedFile[] {
  const files = new Map<string, MountedFile>()
  for (const mount of mounts) {
    const found = findConfigMap(configMaps, mount.namespace, mount.configMap)
    if (found === undefined) continue
    const items = mount.items ?? [...Object.keys(found.data), ...found.binaryKeys].map((key) => ({key, path: key}))
    for (const item of items) {
      const value = found.data[item.key]
      if (value === undefined && !found.binaryKeys.includes(item.key)) continue
      const path = containerPathOf(mount, item.path)
      if (path === undefined || files.has(path) || isHidden(path, mount, mounts)) continue
      files.set(path, {
        path,
        namespace: mount.namespace,
        configMap: mount.configMap,
        key: item.key,
        ...(value === undefined ? {} : {text: value}),
        live: mount.live,
      })
    }
  }
  return [...files.values()].toSorted((left, right) => (left.path < right.path ? -1 : 1))
}

/** Path in the container of a file of the volume; undefined when a `subPath` mount leaves it out. */
export function containerPathOf(mount: ConfigMount, inVolume: string): string | undefined {
  const normal = normalizePath(inVolume)
  if (mount.subPath === undefined) return resolvePath(mount.path, normal)
  const sub = normalizePath(mount.subPath)
  if (normal === sub) return mount.path
  return covers(sub, normal) ? resolvePath(mount.path, pathBelow(sub, normal)) : undefined
}

/** A deeper mount hides what a shallower one puts at the same place. */
function isHidden(path: string, mount: ConfigMount, mounts: readonly ConfigMount[]): boolean {
  return mounts.some((other) => other.path.length > mount.path.length && covers(other.path, path))
}

function joinVolumePath(subPath: string | undefined, below: string): string {
  return normalizePath(`/${subPath ?? ''}/${below}`).slice(1)
}

/** Bytes that count against the limit of a ConfigMap (validation.go, ValidateConfigMap): keys and values. */
function sizeOf(configMap: ConfigMapView): number {
  return Object.entries(configMap.data).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
}

/** Whether a ConfigMap was asked for and refused, so that nothing is known of it. */
export function isForbidden({forbiddenMaps}: ReadMaps, namespace: string, name: string): boolean {
  return forbiddenMaps?.has(`${namespace}/${name}`) === true
}

export function findConfigMap(
  configMaps: readonly ConfigMapView[],
  namespace: string,
  name: string,
): ConfigMapView | undefined {
  return configMaps.find(
    (entry) => entry.metadata.name === name && (entry.metadata.namespace ?? 'default') === namespace,
  )
}

/**
 * CoreDNS version out of an image reference: the tag (`v1.12.2`, `1.12.2`, `v1.11.4-eksbuild.2`, `1.9.3-4`), never the digest.
 * Undefined when the tag does not begin with three numbers.
 */
export function versionFromImage(image: string): string | undefined {
  const withoutDigest = image.split('@')[0] ?? ''
  const tag = /:([^/:]+)$/.exec(withoutDigest)?.[1]
  return tag === undefined ? undefined : /^v?(\d+\.\d+\.\d+)(?!\d)/.exec(tag)?.[1]
}
