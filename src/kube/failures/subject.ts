import {refText} from '../../model/kubernetes.ts'
import {resourceText} from '../resources.ts'
import type {ClusterConfig, RequestSubject} from '../types.ts'

/** `configmap/kube-system/coredns`, `pods in namespace "edge"`, or the bare path's verb where nothing is known. */
export function subjectText(about: RequestSubject | undefined): string {
  const resource = about?.resource
  if (about === undefined || resource === undefined) return about?.verb ?? 'the request'
  if (about.name !== undefined) {
    const suffix = about.subresource === undefined ? '' : `/${about.subresource}`
    return `${refText({kind: resource.kind, namespace: about.namespace, name: about.name})}${suffix}`
  }
  return `${resourceText(resource)}${about.namespace === undefined ? '' : ` in namespace "${about.namespace}"`}`
}

/** The right that a request needs, as a person would ask for it: `patch configmaps "coredns" in namespace "kube-system"`. */
export function rightText(about: RequestSubject): string {
  const {resource, subresource, namespace, name, verb} = about
  if (resource === undefined) return verb
  const what = `${resourceText(resource)}${subresource === undefined ? '' : `/${subresource}`}`
  const scope =
    namespace !== undefined ? ` in namespace "${namespace}"` : resource.namespaced ? ' in all namespaces' : ''
  return `${verb} ${what}${name === undefined ? '' : ` "${name}"`}${scope}`
}

/** The kubectl line that asks the same question. */
export function canICommand(about: RequestSubject, config: ClusterConfig): string | undefined {
  const {resource, subresource, namespace, name, verb} = about
  if (resource === undefined) return undefined
  const what = `${resourceText(resource)}${name === undefined ? '' : `/${name}`}`
  const words = ['kubectl', ...contextFlag(config), 'auth', 'can-i', verb, what]
  if (subresource !== undefined) words.push(`--subresource=${subresource}`)
  words.push(...(namespace !== undefined ? ['-n', namespace] : resource.namespaced ? ['-A'] : []))
  return words.join(' ')
}

export function contextFlag(config: ClusterConfig): string[] {
  return config.context === undefined ? [] : ['--context', config.context]
}

/** Text from elsewhere, fit for one line of ours: no control characters, no more than `limit` characters. */
export function oneLine(text: string, limit = 1000): string {
  // oxlint-disable-next-line no-control-regex -- taking control characters out is the point
  const clean = text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g, ' ').trim()
  return clean.length > limit ? `${clean.slice(0, limit)}…` : clean
}
