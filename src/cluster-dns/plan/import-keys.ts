import {posix} from 'node:path'
import type {ImportUse, ParsedCorefile} from '../../../plugins/coredns/src/index.ts'
import {containerPathOf, type ConfigMount} from '../../platforms/dns/container.ts'

/** A key of ours in a mounted ConfigMap that a server block imports (or would, once it exists). */
export interface OwnImportKey {
  /** Absolute path in the container. */
  readonly path: string
  readonly key: string
  readonly mount: ConfigMount
}

/**
 * Keys of ours that imports inside server blocks read: the suffix (and the whole pattern) is the import's, the stem is ours. Only
 * directories that a live ConfigMap volume fills count; `items` show no key that they do not list.
 */
export function ownImportKeys(parsed: ParsedCorefile, mounts: readonly ConfigMount[], stem: string): OwnImportKey[] {
  const keys = new Map<string, OwnImportKey>()
  for (const use of parsed.imports) {
    if (use.block === -1 || use.kind === 'snippet') continue
    const found = keyFor(use, mounts, stem)
    if (found !== undefined) keys.set(found.path, found)
  }
  return [...keys.values()]
}

/** Keys of another owner that exist in mounted ConfigMaps, whichever import reads them. */
export function foundKeys(paths: Iterable<string>, mounts: readonly ConfigMount[], stem: string): OwnImportKey[] {
  return [...paths].flatMap((path) => {
    const key = posix.basename(path)
    const mount = mounts.find((entry) => entry.path === posix.dirname(path) && entry.live && !entry.forbidden)
    return mount === undefined || key.split('.')[0] !== stem ? [] : [{path, key, mount}]
  })
}

function keyFor(use: ImportUse, mounts: readonly ConfigMount[], stem: string): OwnImportKey | undefined {
  const key = keyOfPattern(posix.basename(use.resolved), stem)
  const mount = mounts.find((entry) => entry.path === posix.dirname(use.resolved) && entry.live && !entry.forbidden)
  if (key === undefined || mount === undefined) return undefined
  if (mount.items !== undefined && !mount.items.some((item) => item.key === key && item.path === key)) return undefined
  const path = containerPathOf(mount, key)
  return path === undefined ? undefined : {path, key, mount}
}

/** `*.override` gives `srcip.override`; a pattern without `*`, or a bare `*` (which meets the directory `..data`), gives none. */
function keyOfPattern(pattern: string, stem: string): string | undefined {
  if (!pattern.includes('*') || pattern === '*' || /[?\\]/.test(pattern)) return undefined
  return pattern.replace('*', stem)
}

/** Why no key of ours would be read, import by import, and which key would be: for the person who wants import mode. */
export function explainImports(
  parsed: ParsedCorefile,
  mounts: readonly ConfigMount[],
  stem: string,
): {readonly reason: string; readonly remedy: string} {
  const lines = parsed.imports.filter((use) => use.kind !== 'snippet').map((use) => explainImport(use, mounts, stem))
  const mounted = mounts
    .filter((mount) => mount.subPath === undefined && mount.items === undefined)
    .map((mount) => `configmap ${mount.configMap} at ${mount.path}`)
  return {
    reason: `no server block that answers the hosts imports a key of ours: ${lines.length === 0 ? 'the Corefile has no import of files' : lines.join('; ')}`,
    remedy:
      mounted.length === 0
        ? `mount a ConfigMap and import it inside the server block, for example: import /etc/coredns/custom/*.override (key ${stem}.override)`
        : `import it inside the server block that answers the hosts, for example: import ${mountExample(mounts)}/*.override (key ${stem}.override; mounted: ${mounted.join(', ')})`,
  }
}

function mountExample(mounts: readonly ConfigMount[]): string {
  return mounts.find((mount) => mount.subPath === undefined && mount.items === undefined)?.path ?? '/etc/coredns/custom'
}

function explainImport(use: ImportUse, mounts: readonly ConfigMount[], stem: string): string {
  const at = `line ${use.line} "import ${use.pattern}"`
  if (use.block === -1) {
    return `${at} stands between server blocks, where "rewrite name …" would be read as zone names`
  }
  const found = keyFor(use, mounts, stem)
  if (found !== undefined)
    return `${at} reads key ${found.key} of configmap ${found.mount.configMap}, but in another server block`
  const key = keyOfPattern(posix.basename(use.resolved), stem)
  if (key === undefined) return `${at} names one file and takes no further key`
  return `${at} would read key ${key}, but no ConfigMap is mounted at ${posix.dirname(use.resolved)}`
}
