import {SrcipError} from '../../model/errors.ts'
import type {ObjectKey, Resource} from '../types.ts'

type QueryValue = string | number | boolean | readonly string[] | undefined

/**
 * URL path of a collection.
 * @param namespace undefined: all namespaces, or a cluster-scoped kind
 */
export function collectionPath(resource: Resource, namespace?: string | undefined): string {
  const root =
    resource.group === ''
      ? `/api/${segment(resource.version)}`
      : `/apis/${segment(resource.group)}/${segment(resource.version)}`
  if (namespace === undefined || !resource.namespaced) return `${root}/${segment(resource.plural)}`
  return `${root}/namespaces/${segment(namespace)}/${segment(resource.plural)}`
}

/** URL path of one object, or of one of its subresources. */
export function objectPath(resource: Resource, key: ObjectKey, subresource?: string | undefined): string {
  if (resource.namespaced && (key.namespace === undefined || key.namespace === '')) {
    throw new SrcipError('Internal', `${resource.kind} ${key.name} needs a namespace`)
  }
  const path = `${collectionPath(resource, key.namespace)}/${segment(key.name)}`
  return subresource === undefined ? path : `${path}/${subresource.split('/').map(segment).join('/')}`
}

/** One path segment. `.`, `..` and nothing would change which path is meant, also when escaped. */
function segment(text: string): string {
  if (text === '' || text === '.' || text === '..') {
    throw new SrcipError('Usage', `"${text}" is no name of a Kubernetes object`, {
      hints: ['check the name on the command line'],
    })
  }
  return encodeURIComponent(text)
}

/** `?a=1&b=2`; undefined values are left out, lists repeat the key. */
export function queryText(query: Readonly<Record<string, QueryValue>>): string {
  const pairs = Object.entries(query).flatMap(([key, value]) => {
    const values = value === undefined ? [] : typeof value === 'object' ? value : [String(value)]
    return values.map((one) => `${encodeURIComponent(key)}=${encodeURIComponent(one)}`)
  })
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
