import {spawnSync} from 'node:child_process'
import {existsSync} from 'node:fs'
import {describe, test} from 'vitest'
import {buildPart} from '../bed/part-build.ts'
import type {BuiltPart, PackagedPart} from '../bed/part-table.ts'
import {onPath, partPath} from '../bed/parts.ts'

function built(module: string, packageName: string, binary: string, version: string, coldBuild: string): BuiltPart {
  return {kind: 'built', module, package: packageName, binary, version, ldflags: '-s -w', coldBuild}
}

/** Registries, readers and peers of the mirror's tests and benches. */
const mirrorParts = {
  'registry-2.8': {kind: 'packaged', binary: 'docker-registry', debian: 'docker-registry'},
  'registry-3': built(
    'distribution',
    'github.com/distribution/distribution/v3/cmd/registry',
    'registry',
    '3.0.0',
    '3 minutes',
  ),
  'registry-referrers': built('registry-referrers', '.', 'registry-referrers', 'bed', '15 seconds'),
  skopeo: {kind: 'packaged', binary: 'skopeo', debian: 'skopeo'},
  containerd: {kind: 'packaged', binary: 'containerd', debian: 'containerd'},
  ctr: {kind: 'packaged', binary: 'ctr', debian: 'containerd'},
  openssl: {kind: 'packaged', binary: 'openssl', debian: 'openssl'},
  time: {kind: 'packaged', binary: 'time', debian: 'time'},
  crane: built('crane', 'github.com/google/go-containerregistry/cmd/crane', 'crane', '0.22.1', '15 seconds'),
  regctl: built('regctl', 'github.com/regclient/regclient/cmd/regctl', 'regctl', '0.11.1', '15 seconds'),
} as const satisfies Record<string, BuiltPart | PackagedPart>

/** Parts of this table, and those of the bed's own that the mirror needs. */
export type MirrorPart = keyof typeof mirrorParts | 'helm' | 'kube-apiserver' | 'etcd' | 'namespaces'

/** The path of a part, or why there is none. */
export async function mirrorPart(name: MirrorPart): Promise<string | {readonly missing: string}> {
  if (name === 'helm' || name === 'kube-apiserver' || name === 'etcd') return partPath(name)
  if (name === 'namespaces') return namespaces()
  const part: BuiltPart | PackagedPart = mirrorParts[name]
  if (part.kind === 'built') return buildPart(part)
  const path = onPath(part.binary)
  return path !== undefined && existsSync(path) ? path : {missing: `not installed: apt-get install ${part.debian}`}
}

/** Namespaces of our own for network and mounts: not every container lets one make them. */
function namespaces(): string | {readonly missing: string} {
  const made = spawnSync('unshare', [...isolation, 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'none', '/mnt'])
  if (made.status === 0) return 'unshare'
  return {missing: `no network and mount namespaces here: ${made.error?.message ?? made.stderr.toString().trim()}`}
}

/** Flags of unshare for a network of its own and mounts that nobody else sees, as root or as anyone. */
export const isolation: readonly string[] = [
  ...(process.getuid?.() === 0 ? [] : ['--user', '--map-root-user']),
  '--net',
  '--mount',
]

/** A suite that needs these parts: skipped by name and counted where one is missing, failing instead with CI=true. */
export async function describeWith<Name extends MirrorPart>(
  title: string,
  names: readonly Name[],
  body: (parts: Record<Name, string>) => void,
): Promise<void> {
  const paths: Partial<Record<Name, string>> = {}
  for (const name of names) {
    const path = await mirrorPart(name)
    if (typeof path === 'string') {
      paths[name] = path
      continue
    }
    const reason = `${name}: ${path.missing}`
    if (process.env['CI'] === 'true') {
      test(title, () => {
        throw new Error(`missing part: ${reason}`)
      })
    } else {
      describe.skip(`${title} [skipped, missing part ${reason}]`, () =>
        body(Object.fromEntries(names.map((one) => [one, ''])) as Record<Name, string>))
    }
    return
  }
  describe(title, () => body(paths as Record<Name, string>))
}
