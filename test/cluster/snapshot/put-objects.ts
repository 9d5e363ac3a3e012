import {readFileSync} from 'node:fs'
import {parseAllDocuments} from 'yaml'
import {snapshotKindOf, snapshotKinds} from '../../../src/model/projection/project-object.ts'
import {ApiFailure, type ApiClient} from '../bed/api-client.ts'
import type {KubeObject} from '../bed/objects.ts'

/** The objects of YAML files, in order. */
export function objectsOf(...files: readonly (URL | string)[]): KubeObject[] {
  return files.flatMap((file) =>
    parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as KubeObject),
  )
}

/**
 * Puts objects into a real API server: namespaces as needed, a second description of the same object is merged over the first
 * (RFC 7386), `status` goes through its subresource. Defaults come back from the server.
 */
export async function putObjects(admin: ApiClient, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    const {namespace} = object.metadata
    if (namespace !== undefined)
      await ignoring(409, () =>
        admin.request('POST', '/api/v1/namespaces', {metadata: {name: namespace}, apiVersion: 'v1', kind: 'Namespace'}),
      )
    const collection = pathOf(object)
    const one = `${collection}/${object.metadata.name}`
    const {status, ...rest} = object
    const merged = await ignoring(404, () => admin.request('PATCH', one, rest, 'application/merge-patch+json'))
    if (merged === undefined) await admin.request('POST', collection, rest)
    if (status !== undefined) await admin.request('PATCH', `${one}/status`, {status}, 'application/merge-patch+json')
  }
}

function pathOf(object: KubeObject): string {
  const kind = snapshotKindOf(object.apiVersion, object.kind)
  if (kind === undefined) throw new Error(`${object.kind} is no kind of a snapshot`)
  const root = object.apiVersion.includes('/') ? `/apis/${object.apiVersion}` : `/api/${object.apiVersion}`
  return `${root}${kind.namespaced ? `/namespaces/${object.metadata.namespace ?? 'default'}` : ''}/${kind.plural}`
}

async function ignoring<T>(status: number, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof ApiFailure && error.status === status) return undefined
    throw error
  }
}

/** CustomResourceDefinitions, with an open schema, for every kind that a snapshot asks for and the server does not have. */
export async function installCustomKinds(admin: ApiClient): Promise<void> {
  const custom = snapshotKinds.filter(({builtIn}) => !builtIn)
  for (const {group, plural, kind, versions, namespaced} of custom) {
    await admin.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name: `${plural}.${group}`,
        // Names in *.k8s.io are kept for the project; the server wants to see that somebody has agreed to them.
        annotations: {'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api/pull/1'},
      },
      spec: {
        group,
        names: {kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List`},
        scope: namespaced ? 'Namespaced' : 'Cluster',
        versions: [
          {
            name: versions[0],
            served: true,
            storage: true,
            schema: {openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}},
          },
        ],
      },
    })
  }
  for (const {group, plural, versions} of custom) {
    for (const end = Date.now() + 60_000; ;) {
      // 404: not yet known; 429: known, and its storage is being made.
      const asked = admin.get(`/apis/${group}/${versions[0]}/${plural}`)
      if (await asked.then(Boolean, () => false)) break
      if (Date.now() > end) throw new Error(`${plural}.${group} is not served`)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  }
}
