import type {KubeObject} from '../../model/kubernetes.ts'
import {fieldManager} from '../../model/dns.ts'
import {hasStatus} from '../failures/failure.ts'
import type {DeleteOptions, MergePatchOptions, ObjectKey, Resource, WriteOptions} from '../types.ts'
import {parseJson} from './body.ts'
import {collectionPath, objectPath} from './paths.ts'
import type {InnerRequest, Requester} from './requester.ts'

/** POST of a new object. */
export async function createObject<T>(
  requester: Requester,
  resource: Resource,
  object: KubeObject,
  options: WriteOptions,
): Promise<T> {
  const {namespace, name} = object.metadata
  const path =
    options.subresource === undefined
      ? collectionPath(resource, namespace)
      : objectPath(resource, {namespace, name}, options.subresource)
  return await write<T>(
    requester,
    {resource, key: {namespace, name}, verb: 'create', options},
    {
      method: 'POST',
      path,
      body: JSON.stringify(withType(object, resource)),
    },
  )
}

/** PUT of a whole object. */
export async function updateObject<T>(
  requester: Requester,
  resource: Resource,
  object: KubeObject,
  options: WriteOptions,
): Promise<T> {
  const {namespace, name, resourceVersion} = object.metadata
  return await write<T>(
    requester,
    {resource, key: {namespace, name}, verb: 'update', options},
    {
      method: 'PUT',
      path: objectPath(resource, {namespace, name}, options.subresource),
      body: JSON.stringify(withType(object, resource)),
      repeatable: resourceVersion !== undefined,
    },
  )
}

/** JSON merge patch with the preconditions in its metadata (controller.md 3.10). */
export async function mergePatchObject<T>(
  requester: Requester,
  resource: Resource,
  key: ObjectKey,
  patch: object,
  options: MergePatchOptions,
): Promise<T> {
  const {resourceVersion, uid} = options
  const {metadata, ...rest} = patch as {metadata?: object}
  const conditions = {...(resourceVersion === undefined ? {} : {resourceVersion}), ...(uid === undefined ? {} : {uid})}
  const merged = {...metadata, ...conditions}
  const body = Object.keys(merged).length === 0 ? rest : {...rest, metadata: merged}
  return await write<T>(
    requester,
    {resource, key, verb: 'patch', options},
    {
      method: 'PATCH',
      path: objectPath(resource, key, options.subresource),
      body: JSON.stringify(body),
      contentType: 'application/merge-patch+json',
      repeatable: resourceVersion !== undefined,
    },
  )
}

/** Server-side apply with force: for objects, or keys, that are wholly ours. */
export async function applyObject<T>(
  requester: Requester,
  resource: Resource,
  object: KubeObject,
  options: WriteOptions,
): Promise<T> {
  const {namespace, name} = object.metadata
  return await write<T>(
    requester,
    {resource, key: {namespace, name}, verb: 'patch', options},
    {
      method: 'PATCH',
      path: objectPath(resource, {namespace, name}, options.subresource),
      query: {force: true},
      // JSON is YAML.
      body: JSON.stringify(withType(object, resource)),
      contentType: 'application/apply-patch+yaml',
      repeatable: true,
    },
  )
}

/** @returns false when there was nothing to delete */
export async function deleteObject(
  requester: Requester,
  resource: Resource,
  key: ObjectKey,
  options: DeleteOptions,
): Promise<boolean> {
  const {uid, resourceVersion, propagationPolicy, gracePeriodSeconds} = options
  const conditioned = uid !== undefined || resourceVersion !== undefined
  const body = {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ...(conditioned ? {preconditions: {uid, resourceVersion}} : {}),
    propagationPolicy,
    gracePeriodSeconds,
  }
  try {
    await requester.request({
      method: 'DELETE',
      path: objectPath(resource, key),
      query: {dryRun: options.dryRun === 'server' ? 'All' : undefined},
      body: JSON.stringify(body),
      repeatable: conditioned,
      signal: options.signal,
      timeoutMs: options.timeoutMs,
      about: {verb: 'delete', resource, ...key},
    })
    return true
  } catch (error) {
    if (hasStatus(error, 404)) return false
    throw error
  }
}

interface Write {
  readonly resource: Resource
  readonly key: ObjectKey
  readonly verb: string
  readonly options: WriteOptions
}

async function write<T>(
  requester: Requester,
  {resource, key, verb, options}: Write,
  request: InnerRequest,
): Promise<T> {
  const about = {verb, resource, subresource: options.subresource, ...key}
  const response = await requester.request({
    ...request,
    query: {
      // Without it the write is booked under the User-Agent.
      fieldManager: options.fieldManager ?? fieldManager,
      dryRun: options.dryRun === 'server' ? 'All' : undefined,
      ...request.query,
    },
    signal: options.signal,
    timeoutMs: options.timeoutMs,
    about,
  })
  return parseJson(response.body, {config: requester.config, about}) as T
}

function withType(object: KubeObject, resource: Resource): KubeObject {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
  return {...object, apiVersion: object.apiVersion ?? apiVersion, kind: object.kind ?? resource.kind}
}
