import type {ManagedFieldsEntry, ObjectMeta} from '../../model/kubernetes.ts'
import {dnsOwnerRules, type DnsOwnerRule, type OwnerMatch} from './owners.ts'

/** Who owns a ConfigMap's Corefile, and what that means for a change. */
export interface DnsOwner {
  readonly id: string
  readonly title: string
  readonly edits: DnsOwnerRule['edits']
  readonly lasts: string
  readonly instead?: string
  /** What in the object says so: `label k=v`, `annotation k=v` or `manager eks owns data.Corefile`. */
  readonly evidence: readonly string[]
  readonly source: string
}

/** Recognises the owner of the key that holds the Corefile by labels, annotations and managedFields; undefined: nobody is known to put it back. */
export function recogniseDnsOwner(metadata: ObjectMeta, key: string, rules = dnsOwnerRules): DnsOwner | undefined {
  for (const rule of rules) {
    const evidence = evidenceFor(rule.match, metadata, key)
    if (evidence === undefined) continue
    const fill = (template: string): string =>
      template
        .replaceAll('{name}', ownerName(rule.match, metadata))
        .replaceAll('{namespace}', ownerNamespace(rule.match, metadata))
    return {
      id: rule.id,
      title: fill(rule.title),
      edits: rule.edits,
      lasts: fill(rule.lasts),
      ...(rule.instead === undefined ? {} : {instead: fill(rule.instead)}),
      evidence,
      source: rule.source,
    }
  }
  return undefined
}

function evidenceFor(match: OwnerMatch, metadata: ObjectMeta, key: string): string[] | undefined {
  const evidence: string[] = []
  if (match.namespace !== undefined && metadata.namespace !== match.namespace) return undefined
  for (const [kind, wanted, found] of [
    ['label', match.labels, metadata.labels],
    ['annotation', match.annotations, metadata.annotations],
  ] as const) {
    for (const [name, value] of Object.entries(wanted ?? {})) {
      const actual = found?.[name]
      if (actual === undefined || (value !== '*' && actual !== value)) return undefined
      evidence.push(`${kind} ${name}=${actual}`)
    }
  }
  if (match.managers !== undefined) {
    const manager = managersOfKey(metadata, key).find((name) =>
      match.managers?.some((prefix) => name === prefix || name.startsWith(`${prefix}-`)),
    )
    if (manager === undefined) return undefined
    evidence.push(`manager ${manager} owns data.${key}`)
  }
  return evidence
}

/** Field managers that own `data.KEY` (or all of `data`), in the order of managedFields. */
export function managersOfKey(metadata: ObjectMeta, key: string): string[] {
  return (metadata.managedFields ?? [])
    .filter((entry) => ownsKey(entry, key))
    .map((entry) => entry.manager ?? '')
    .filter((name) => name !== '')
}

function ownsKey(entry: ManagedFieldsEntry, key: string): boolean {
  const fields = entry.fieldsV1
  if (typeof fields !== 'object' || fields === null) return false
  const data = (fields as Record<string, unknown>)['f:data']
  return typeof data === 'object' && data !== null && `f:${key}` in data
}

function ownerName(match: OwnerMatch, metadata: ObjectMeta): string {
  const value =
    match.name === undefined ? undefined : (metadata.labels?.[match.name] ?? metadata.annotations?.[match.name])
  // Argo CD's tracking id is APP:GROUP/KIND:NAMESPACE/NAME
  return value?.split(':')[0] ?? metadata.name
}

function ownerNamespace(match: OwnerMatch, metadata: ObjectMeta): string {
  const value =
    match.ownerNamespace === undefined
      ? undefined
      : (metadata.labels?.[match.ownerNamespace] ?? metadata.annotations?.[match.ownerNamespace])
  return value ?? metadata.namespace ?? 'default'
}
