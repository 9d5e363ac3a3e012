import {posix} from 'node:path'
import {parseCorefile, type Environment} from '../../plugins/coredns/src/index.ts'
import type {CallOptions, KubeClient} from '../kube/index.ts'
import {covers} from '../platforms/dns/paths.ts'
import type {DnsLocation} from '../platforms/dns/locate.ts'
import type {ServiceView} from '../platforms/dns/objects.ts'
import {loadDnsLocation, loadTargets, type LoadOptions} from './load.ts'
import type {DnsState} from './types.ts'

/** CoreDNS release that is assumed where none is known (design.md 7: the release that everything is measured with). */
export const assumedVersion = '1.14.7'

/** Reads cluster DNS and the target Services in one pass. */
export async function loadDnsState(
  client: KubeClient,
  options: LoadOptions & {readonly targets?: Iterable<string>; readonly version?: string | undefined} = {},
): Promise<DnsState> {
  const call: CallOptions = {signal: options.signal, timeoutMs: options.timeoutMs}
  const [location, services] = await Promise.all([
    loadDnsLocation(client, options),
    loadTargets(client, options.targets ?? [], call),
  ])
  return stateOfLocation(location, services, options.version)
}

/** The state behind a location; pure. `version` overrides what the image tag says. */
export function stateOfLocation(
  location: DnsLocation,
  services: ReadonlyMap<string, ServiceView | undefined>,
  version?: string,
): DnsState {
  const {namespace, corefile} = location
  const files = filesOf(location)
  const known = version ?? location.container.version
  return {
    origin: 'cluster',
    corefile: {
      source: `configmap/${namespace}/${corefile.configMap}`,
      key: corefile.key,
      ...(corefile.uid === undefined ? {} : {uid: corefile.uid}),
      ...(corefile.resourceVersion === undefined ? {} : {resourceVersion: corefile.resourceVersion}),
      bytes: Buffer.from(corefile.text, 'utf8'),
    },
    corefilePath: location.corefilePath,
    files,
    directories: knownDirectories(location, files),
    env: environmentOf(location),
    version: known ?? assumedVersion,
    versionKnown: known !== undefined,
    location,
    services,
  }
}

/** Text files of the mounted ConfigMaps beside the Corefile. */
function filesOf(location: DnsLocation): Map<string, Uint8Array> {
  const others = location.files.filter((file) => file.path !== location.corefilePath)
  return new Map(
    others.flatMap((file) => (file.text === undefined ? [] : [[file.path, Buffer.from(file.text, 'utf8')] as const])),
  )
}

/**
 * Directories whose every file is known: those that ConfigMaps fill, each with the folder `..data` that kubelet keeps in it (it
 * makes `import custom/*` an error, and a malformed pattern one even while the ConfigMap is empty), and the directories of imports that lie below one without
 * a mount of their own, which do not exist (an optional volume that a platform leaves out).
 */
function knownDirectories(location: DnsLocation, files: ReadonlyMap<string, Uint8Array>): Set<string> {
  const whole = location.mounts.filter((mount) => mount.whole).map((mount) => mount.path)
  const parsed = parseCorefile(Buffer.from(location.corefile.text, 'utf8'), {
    path: location.corefilePath,
    files,
    imports: 'unknown',
    directives: false,
  })
  const imported = parsed.imports.filter((use) => use.kind !== 'snippet').map((use) => posix.dirname(use.resolved))
  const missing = imported.filter((directory) => {
    const deepest = (paths: readonly string[]): number =>
      Math.max(-1, ...paths.filter((path) => covers(path, directory)).map((path) => path.length))
    return deepest(whole) > deepest(location.opaqueMounts)
  })
  return new Set([...whole, ...whole.map((path) => posix.join(path, '..data')), ...missing])
}

/** What the parser may take for set, unset and unknown. */
function environmentOf(location: DnsLocation): Environment {
  const known = new Map<string, string>()
  let opaque = location.hiddenEnvironment
  for (const [name, value] of location.environment) {
    if (value === undefined) opaque = true
    else known.set(name, value)
  }
  return {known, others: opaque ? 'unknown' : 'unset'}
}

/** The state behind a Corefile given with `-f`: no cluster, no imports, no environment is known. */
export function stateOfFile(path: string, bytes: Uint8Array, version?: string): DnsState {
  return {
    origin: 'file',
    corefile: {source: 'file', key: path, bytes},
    corefilePath: '/etc/coredns/Corefile',
    files: new Map(),
    directories: new Set(),
    env: {known: new Map(), others: 'unknown'},
    version: version ?? assumedVersion,
    versionKnown: version !== undefined,
  }
}
