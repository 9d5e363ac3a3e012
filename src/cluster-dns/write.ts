import {fieldManager} from '../model/dns.ts'
import {SrcipError} from '../model/errors.ts'
import type {KubeObject} from '../model/kubernetes.ts'
import {
  hasStatus,
  isAdmissionDenial,
  resources,
  sleep,
  systemClock,
  type CallOptions,
  type Clock,
  type KubeClient,
} from '../kube/index.ts'
import {managersOfKey} from '../platforms/dns/owner.ts'
import {projectConfigMap} from '../platforms/dns/objects.ts'
import {AlteredWrite} from './altered-write.ts'
import type {DnsWrite, DoneWrite} from './types.ts'

/** ConfigMaps may hold 1,048,576 bytes of keys and values (apimachinery MaxSecretSize); the server answers 422 above. */
export const configMapLimit = 1_048_576

export interface WriteOptions extends CallOptions {
  /** `server`: checked by the server, not stored. */
  readonly dryRun?: 'none' | 'server' | undefined
}

/**
 * May and can these writes be made? Asks the authorizer (31 names verb and resource) and reads each object again: one that is no
 * longer as planned is a stale plan (32). Writes nothing.
 */
export async function checkWrites(
  client: KubeClient,
  writes: readonly DnsWrite[],
  options: CallOptions = {},
): Promise<void> {
  for (const write of writes) {
    const {namespace, configMap: name} = write
    const verb = write.uid === undefined ? 'create' : 'patch'
    const {allowed, reason} = await client.selfSubjectAccessReview(
      {verb, resource: resources.configMaps, namespace, ...(verb === 'create' ? {} : {name})},
      options,
    )
    if (!allowed) {
      throw new SrcipError(
        'Denied',
        `not allowed to ${verb} configmaps in namespace ${namespace}${reason === '' ? '' : ` (${reason})`}`,
        {
          object: objectOf(write),
          hints: [`kubectl auth can-i ${verb} configmaps${verb === 'patch' ? `/${name}` : ''} -n ${namespace}`],
        },
      )
    }
    const live = await client.find<KubeObject>(resources.configMaps, {namespace, name}, options)
    const meta = live?.metadata
    if (meta?.uid !== write.uid || meta?.resourceVersion !== write.resourceVersion) throw staleError(write, live)
  }
}

/**
 * Makes the writes in order, each a JSON merge patch of one key with resourceVersion and uid as preconditions, or the creation of
 * the ConfigMap. If a later one fails, or the server stores another text than it was sent, all are put back before the error is passed
 * on: only what was planned and simulated may stand.
 *
 * @returns the writes with the resourceVersion they produced, which `undoWrites` needs
 * @throws SrcipError 33 when an object has changed meanwhile, 31 without the right, 30 unreachable
 */
export async function makeWrites(
  client: KubeClient,
  writes: readonly DnsWrite[],
  options: WriteOptions = {},
): Promise<DoneWrite[]> {
  const done: DoneWrite[] = []
  for (const keys of byObject(writes)) {
    let stored: KubeObject
    try {
      stored = await makeWrite(client, keys, options)
    } catch (error) {
      if (options.dryRun !== 'server' && done.length > 0) await undoWrites(client, done, options)
      throw error
    }
    const {uid = '', resourceVersion = ''} = stored.metadata
    done.push(...keys.map((one) => ({...one, uid, resourceVersion})))
    const altered = keys.find(({key, after}) => valueOf(stored, key) !== after)
    if (altered === undefined) continue
    const undone = options.dryRun === 'server' ? [] : await undoWrites(client, done, options)
    const failed = undone.find(({restored}) => !restored)
    throw new AlteredWrite(objectOf(altered), altered.key, failed === undefined ? undefined : (failed.reason ?? ''))
  }
  return done
}

/** Keys of one ConfigMap together, in the order of their first: no moment shows one of them alone. */
function byObject(writes: readonly DnsWrite[]): (readonly [DnsWrite, ...DnsWrite[]])[] {
  const groups: [DnsWrite, ...DnsWrite[]][] = []
  for (const write of writes) {
    const group = groups.find(([first]) => sameObject(first, write))
    if (group === undefined) groups.push([write])
    else group.push(write)
  }
  return groups
}

async function makeWrite(
  client: KubeClient,
  keys: readonly [DnsWrite, ...DnsWrite[]],
  options: WriteOptions,
): Promise<KubeObject> {
  const [write] = keys
  const {namespace, configMap: name} = write
  const settings = {...options, fieldManager}
  try {
    return write.uid === undefined
      ? await client.create(
          resources.configMaps,
          // no label of ours: the object is the platform's hook, others put their keys into it, and we never delete it
          {apiVersion: 'v1', kind: 'ConfigMap', metadata: {namespace, name}, data: presentKeys(keys)},
          settings,
        )
      : await client.mergePatch(
          resources.configMaps,
          {namespace, name},
          {data: Object.fromEntries(keys.map(({key, after}) => [key, after]))},
          {...settings, uid: write.uid, resourceVersion: write.resourceVersion},
        )
  } catch (error) {
    // An admission webhook may deny with any status from 400 to 499, also with that of a conflict.
    if (!isAdmissionDenial(error) && (isConflict(error) || hasStatus(error, 404))) {
      const live = await client
        .find<KubeObject>(resources.configMaps, {namespace, name}, options)
        .catch(() => undefined)
      throw staleError(write, live, error)
    }
    throw error
  }
}

/** What a new ConfigMap begins with: JSON has no way to say that a key is absent but to leave it out. */
function presentKeys(keys: readonly DnsWrite[]): Record<string, string> {
  return Object.fromEntries(keys.flatMap(({key, after}) => (after === null ? [] : [[key, after]])))
}

export interface UndoOptions extends CallOptions {
  readonly clock?: Clock | undefined
}

/** What became of an attempt to put the previous bytes back. */
export interface UndoneWrite {
  /** With the version of the object that the way back produced, where it was restored. */
  readonly write: DoneWrite
  readonly restored: boolean
  /** Why not. */
  readonly reason?: string
}

const alteredBack = 'the way back was altered too'

/** Tries before a server that does not answer is given up; the way back is worth waiting for. */
const undoTries = 5

/**
 * Puts the previous value of each key back, last write first, if the object still is as we left it. A foreign change since then
 * wins and is reported. A ConfigMap that was created stays, without our key.
 */
export async function undoWrites(
  client: KubeClient,
  done: readonly DoneWrite[],
  options: UndoOptions = {},
): Promise<UndoneWrite[]> {
  const results: UndoneWrite[] = []
  for (const write of done.toReversed()) {
    const later = results.findLast((result) => result.restored && sameObject(result.write, write))
    results.push(await undoWrite(client, later === undefined ? write : standingOn(write, later.write), options))
  }
  return results
}

async function undoWrite(client: KubeClient, write: DoneWrite, options: UndoOptions): Promise<UndoneWrite> {
  const {namespace, configMap: name, key} = write
  for (let attempt = 1; ; attempt++) {
    try {
      const stored: KubeObject = await client.mergePatch(
        resources.configMaps,
        {namespace, name},
        {data: {[key]: write.before}},
        {...options, fieldManager, uid: write.uid, resourceVersion: write.resourceVersion},
      )
      if (valueOf(stored, key) !== write.before) return {write, restored: false, reason: alteredBack}
      return {write: {...write, resourceVersion: stored.metadata.resourceVersion ?? ''}, restored: true}
    } catch (error) {
      const live = await client
        .find<KubeObject>(resources.configMaps, {namespace, name}, options)
        .catch(() => undefined)
      // a patch whose answer got lost has restored it all the same
      if (live !== undefined && valueOf(live, key) === write.before) {
        return {write: {...write, resourceVersion: live.metadata.resourceVersion ?? ''}, restored: true}
      }
      if (!isAdmissionDenial(error) && (isConflict(error) || hasStatus(error, 404)))
        return {write, restored: false, reason: changedBy(write, live)}
      if (attempt === undoTries || options.signal?.aborted === true || hasStatus(error, 401, 403)) {
        return {write, restored: false, reason: error instanceof Error ? error.message : String(error)}
      }
      await sleep(options.clock ?? systemClock, 200 * 2 ** attempt)
    }
  }
}

function sameObject(left: DnsWrite, right: DnsWrite): boolean {
  return left.namespace === right.namespace && left.configMap === right.configMap
}

/** A write to another key of an object that we have just changed ourselves. */
function standingOn<Write extends DnsWrite>(write: Write, {uid, resourceVersion}: DoneWrite): Write {
  return {...write, uid, resourceVersion}
}

function valueOf(object: KubeObject, key: string): string | null {
  return projectConfigMap(object).data[key] ?? null
}

function isConflict(error: unknown): boolean {
  return hasStatus(error, 409) || (error instanceof SrcipError && error.code === 'Conflict')
}

function staleError(write: DnsWrite, live: KubeObject | undefined, cause?: unknown): SrcipError {
  return new SrcipError(
    cause === undefined ? 'Precondition' : 'Conflict',
    `${objectOf(write)} ${changedBy(write, live)} since it was read`,
    {
      object: objectOf(write),
      hints: ['run the command again: it plans from what is there now'],
      cause,
    },
  )
}

function changedBy(write: DnsWrite, live: KubeObject | undefined): string {
  if (live === undefined) return 'was deleted'
  if (write.uid === undefined) return 'was created by somebody else'
  if (live.metadata.uid !== write.uid) return 'was replaced by another object of the same name'
  const managers = managersOfKey(live.metadata, write.key)
  return managers.length === 0 ? 'was changed' : `was changed (managers of ${write.key}: ${managers.join(', ')})`
}

function objectOf(write: DnsWrite): string {
  return `configmap/${write.namespace}/${write.configMap}`
}
