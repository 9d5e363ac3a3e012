import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import {dirname, join} from 'node:path'
import type {ApiClient} from './api-client.ts'
import type {ConfigMap, KubeObject, Pod, Projection, Secret, Volume} from './objects.ts'

/** Where volumes get their content from. */
export type VolumeSources = {
  api: ApiClient
  configMaps: ReadonlyMap<string, ConfigMap>
  secrets: ReadonlyMap<string, Secret>
  /** Certificate of the API server's authority, PEM. */
  ca: string
}

/** Content of a volume: relative path to bytes. */
export type Payload = Map<string, Buffer>

type Source = {name: string; items?: {key: string; path: string}[]; optional?: boolean}

/** A volume that cannot be mounted yet, in kubelet's words; the pod waits. */
export class NotMountable extends Error {}

/** The files of a volume as its sources are now. `emptyDir` has none. */
export async function payloadOf(volume: Volume, pod: Pod, sources: VolumeSources): Promise<Payload> {
  const payload: Payload = new Map()
  for (const projection of projectionsOf(volume)) await project(projection, pod, sources, payload)
  return payload
}

/** Whether a change of this ConfigMap or Secret (kind and name, in the pod's namespace) concerns the volume. */
export function mentions(volume: Volume, kind: 'ConfigMap' | 'Secret', name: string): boolean {
  return projectionsOf(volume).some((each) => (kind === 'ConfigMap' ? each.configMap : each.secret)?.name === name)
}

function projectionsOf(volume: Volume): Projection[] {
  if (volume.projected !== undefined) return volume.projected.sources
  if (volume.configMap !== undefined) return [{configMap: volume.configMap}]
  if (volume.secret !== undefined) return [{secret: {...volume.secret, name: volume.secret.secretName}}]
  return []
}

async function project(from: Projection, pod: Pod, sources: VolumeSources, payload: Payload): Promise<void> {
  const namespace = pod.metadata.namespace ?? 'default'
  if (from.configMap !== undefined) {
    const {name} = from.configMap
    const map = sources.configMaps.get(`${namespace}/${name}`)
    // kubelet reads this ConfigMap from the API; without a controller-manager the bed fills it in.
    const text = name === 'kube-root-ca.crt' ? {'ca.crt': sources.ca} : map?.data
    const found = map !== undefined || name === 'kube-root-ca.crt'
    const entries = [...bytes(text ?? {}, 'utf8'), ...bytes(map?.binaryData ?? {}, 'base64')]
    pick(from.configMap, found ? new Map(entries) : undefined, `configmap "${name}"`, payload)
  }
  if (from.secret !== undefined) {
    const secret = sources.secrets.get(`${namespace}/${from.secret.name}`)
    const entries = secret === undefined ? undefined : new Map(bytes(secret.data ?? {}, 'base64'))
    pick(from.secret, entries, `secret "${from.secret.name}"`, payload)
  }
  if (from.serviceAccountToken !== undefined) {
    const {path, audience, expirationSeconds} = from.serviceAccountToken
    payload.set(path, Buffer.from(await requestToken(sources.api, pod, {audience, expirationSeconds})))
  }
  for (const {path, fieldRef} of from.downwardAPI?.items ?? [])
    payload.set(path, Buffer.from(fieldOf(pod, fieldRef.fieldPath)))
}

function bytes(data: Record<string, string>, encoding: 'utf8' | 'base64'): [string, Buffer][] {
  return Object.entries(data).map(([key, value]) => [key, Buffer.from(value, encoding)])
}

function pick(source: Source, content: Map<string, Buffer> | undefined, what: string, payload: Payload): void {
  if (content === undefined) {
    if (source.optional) return
    throw new NotMountable(`${what} not found`)
  }
  if (source.items === undefined) {
    for (const [key, value] of content) payload.set(key, value)
    return
  }
  for (const {key, path} of source.items) {
    const value = content.get(key)
    if (value !== undefined) payload.set(path, value)
    else if (!source.optional) throw new NotMountable(`${what} references non-existent config key: ${key}`)
  }
}

async function requestToken(
  api: ApiClient,
  pod: Pod,
  options: {audience: string | undefined; expirationSeconds: number | undefined},
): Promise<string> {
  const {namespace = 'default', name, uid} = pod.metadata
  const account = pod.spec.serviceAccountName ?? 'default'
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`
  const spec = {
    audiences: options.audience === undefined ? [] : [options.audience],
    expirationSeconds: options.expirationSeconds ?? 3607,
    // The API server binds only to pods that name their account, which an admission plugin would have seen to.
    ...(pod.spec.serviceAccountName === undefined ? {} : {boundObjectRef: {apiVersion: 'v1', kind: 'Pod', name, uid}}),
  }
  const request = {apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {name: account}, spec}
  const answer = await api.request<KubeObject & {status: {token: string}}>('POST', path, request)
  return answer.status.token
}

/** Value of a downward API field. */
export function fieldOf(pod: Pod, fieldPath: string, address = pod.status?.podIP ?? ''): string {
  const fields: Record<string, string | undefined> = {
    'metadata.name': pod.metadata.name,
    'metadata.namespace': pod.metadata.namespace,
    'metadata.uid': pod.metadata.uid,
    'spec.nodeName': pod.spec.nodeName,
    'spec.serviceAccountName': pod.spec.serviceAccountName ?? 'default',
    'status.podIP': address,
    'status.podIPs': address,
  }
  const value = fields[fieldPath]
  if (value === undefined) throw new Error(`the bed does not know the downward API field ${fieldPath}`)
  return value
}

let generations = 0

/**
 * Writes a volume as kubelet's atomic writer does: a new folder with the files, `..data` swapped onto it by rename, a
 * link per file, the old folder removed. Writes nothing when the content is already there; says whether it wrote.
 */
export function writeVolume(folder: string, payload: Payload, previous: Payload | undefined): boolean {
  mkdirSync(folder, {recursive: true})
  if (previous !== undefined && samePayload(previous, payload)) return false
  const data = join(folder, '..data')
  const old = existsSync(data) ? realpathSync(data) : undefined
  generations += 1
  const stamp = `..${new Date().toISOString().replaceAll(/[-:]/g, '_').replace('T', '_').replace('Z', '')}.${generations}`
  const fresh = join(folder, stamp)
  mkdirSync(fresh)
  for (const [path, content] of payload) {
    mkdirSync(dirname(join(fresh, path)), {recursive: true})
    writeFileSync(join(fresh, path), content, {mode: 0o644})
  }
  symlinkSync(stamp, join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), data)
  const visible = new Set([...payload.keys()].map((path) => path.split('/')[0] ?? ''))
  for (const entry of visible) {
    if (!linkExists(join(folder, entry))) symlinkSync(join('..data', entry), join(folder, entry))
  }
  for (const entry of readdirSync(folder)) {
    const stale = !entry.startsWith('..') && !visible.has(entry) && lstatSync(join(folder, entry)).isSymbolicLink()
    if (stale) rmSync(join(folder, entry))
  }
  if (old !== undefined) rmSync(old, {recursive: true, force: true})
  return true
}

function linkExists(path: string): boolean {
  return lstatSync(path, {throwIfNoEntry: false}) !== undefined
}

function samePayload(a: Payload, b: Payload): boolean {
  return a.size === b.size && [...a].every(([path, content]) => b.get(path)?.equals(content) ?? false)
}
