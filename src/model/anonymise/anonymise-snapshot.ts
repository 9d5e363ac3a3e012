import {field, list, record, text, textPairs, texts, words} from '../fields.ts'
import type {KubeObject} from '../kubernetes.ts'
import {readingSentence, type Snapshot, type SnapshotReading} from '../snapshot.ts'
import type {Digest} from './address-mapper.ts'
import {TextMapper} from './text-mapper.ts'

/** Annotations whose values are names of things. */
const namingAnnotation =
  /(?:name|host|hostname|domain|alias|namespace|subnet|subnets|group|groups|cert|certs|certificate|tags|labels|network|project|id|pool|tracking-id|target|url|signin|issuer|instance)$/i

/** Labels that are hashes or numbers, and tell nothing. */
const openLabel = /(?:pod-template-hash|controller-revision-hash|pod-template-generation)$/

/** Maps whose keys are read by name, and may be named after a host. */
const mapFields = new Set(['labels', 'annotations', 'data', 'binaryData', 'selector', 'matchLabels', 'nodeSelector'])

/** Fields whose values are words of the API, or of a manager, and never names of somebody's things. */
const apiFields = new Set([
  'apiVersion',
  'kind',
  'creationTimestamp',
  'deletionTimestamp',
  'operation',
  'resourceVersion',
])

/**
 * The same cluster with other names: words of names, host names, addresses and uids are replaced, each everywhere by the same,
 * and checks give the same verdicts (text-mapper.ts and address-mapper.ts say what stays). What the server said about a
 * refusal names the user, and is left out. Pure: the same snapshot and digest give the same result.
 */
export function anonymiseSnapshot(snapshot: Snapshot, digest: Digest): Snapshot {
  const mapper = new TextMapper(digest)
  for (const object of snapshot.objects) learn(mapper, object)
  for (const {namespace, names} of snapshot.readings) {
    for (const name of [namespace, ...(names ?? [])]) if (name !== undefined) mapper.learnName(name)
  }
  const readings = snapshot.readings.map((reading) => anonymiseReading(mapper, reading))
  const {uid, version} = snapshot.cluster
  return {
    ...snapshot,
    anonymised: true,
    cluster: {
      ...(version === undefined ? {} : {version}),
      ...(uid === undefined ? {} : {uid: mapper.text(uid)}),
    },
    readings,
    objects: snapshot.objects.map((object) => mapFieldsOf(mapper, object) as KubeObject),
    warnings: warningsOf(snapshot, readings),
  }
}

function anonymiseReading(mapper: TextMapper, reading: SnapshotReading): SnapshotReading {
  const {message: _message, namespace, names, ...rest} = reading
  return {
    ...rest,
    ...(namespace === undefined ? {} : {namespace: mapper.text(namespace)}),
    ...(names === undefined ? {} : {names: names.map((name) => mapper.text(name))}),
  }
}

/** Warnings about sources name files and objects; those about readings can be said again. */
function warningsOf(snapshot: Snapshot, readings: readonly SnapshotReading[]): string[] {
  const missing = readings.filter(({state}) => state !== 'complete' && state !== 'absent')
  const others = snapshot.warnings.length - missing.length
  return [
    ...missing.map(readingSentence),
    ...(others > 0 ? [`${others} more warnings were left out, since they hold names`] : []),
  ]
}

function learn(mapper: TextMapper, object: KubeObject): void {
  const {metadata} = object
  for (const name of [metadata.namespace, metadata.name]) if (name !== undefined) learnNameOrHost(mapper, name)
  for (const owner of metadata.ownerReferences ?? []) mapper.learnName(owner.name)
  for (const [key, value] of Object.entries(metadata.annotations ?? {})) {
    if (!namingAnnotation.test(key)) continue
    for (const word of words(value)) learnNameOrHost(mapper, word.replace(/^[a-z]+:\/\//, ''))
  }
  learnBelow(mapper, object)
}

/** Names and hosts wherever they stand in an object, by the name of the field. */
function learnBelow(mapper: TextMapper, value: unknown): void {
  if (Array.isArray(value)) {
    for (const entry of value) learnBelow(mapper, entry)
    return
  }
  for (const [key, entry] of Object.entries(record(value))) {
    if (key === 'labels' || key === 'matchLabels' || key === 'selector' || key === 'nodeSelector')
      for (const [label, word] of Object.entries(textPairs(entry))) if (!openLabel.test(label)) mapper.learnName(word)
    if (key === 'image' && typeof entry === 'string') mapper.learnImage(entry)
    else if (typeof entry === 'string' && nameField.test(key)) learnNameOrHost(mapper, entry)
    else if (hostField.test(key))
      for (const host of typeof entry === 'string' ? [entry] : list(entry)) learnHost(mapper, host)
    if (key === 'addresses')
      for (const address of list(entry)) learnHost(mapper, text(field(record(address), 'address')))
    if (key === 'args' || key === 'command') for (const word of texts(entry)) mapper.learnText(word)
    if (key === 'data')
      for (const [name, found] of Object.entries(textPairs(entry)))
        if (corefileKey.test(name)) mapper.learnCorefile(found)
        else mapper.learnText(found)
    learnBelow(mapper, entry)
  }
}

/** Keys of ConfigMaps that hold rules of CoreDNS, or tables of hosts. */
const corefileKey = /^(?:Corefile|NodeHosts|stubDomains)$|\.(?:override|server|include)$/

const nameField =
  /^(?:ingressClassName|gatewayClassName|loadBalancerClass|serviceName|ingressName|nodeName|releaseName|targetNamespace|namespace)$/
const hostField = /^(?:host|hosts|hostname|hostnames|externalName|domain|exposedServices)$/

function learnHost(mapper: TextMapper, host: unknown): void {
  if (typeof host === 'string') mapper.learnHost(host)
}

function learnNameOrHost(mapper: TextMapper, name: string): void {
  const host = /^[\w*.-]+/.exec(name)?.[0] ?? ''
  // `v1.example` and `kube-root-ca.crt` have dots, too; a domain has letters at its end.
  if (/\.[a-z]{2,}$/i.test(host) && host.split('.').length > 2) mapper.learnHost(host)
  mapper.learnName(name)
}

function mapFieldsOf(mapper: TextMapper, value: unknown): unknown {
  if (typeof value === 'string') return mapper.text(value)
  if (Array.isArray(value)) return value.map((entry) => mapFieldsOf(mapper, entry))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      if (apiFields.has(key) || key === 'managedFields') return [key, entry]
      if (key === 'providerID' && typeof entry === 'string') return [key, mapper.text(providerIdForm(entry))]
      if (!mapFields.has(key)) return [key, mapFieldsOf(mapper, entry)]
      return [
        key,
        Object.fromEntries(
          Object.entries(record(entry)).map(([inner, found]) => [mapper.key(inner), mapFieldsOf(mapper, found)]),
        ),
      ]
    }),
  )
}

/** The form of a node's id at its provider, without the id: `aws:///x/i-x`. */
function providerIdForm(id: string): string {
  const scheme = /^[a-z0-9]+:\/\/+/i.exec(id)?.[0] ?? ''
  return (
    scheme +
    id
      .slice(scheme.length)
      .replace(
        /(?<=^|[/.-])(?!(?:instance|subscriptions|resourceGroups|providers|Microsoft|Compute|virtualMachineScaleSets|virtualMachines|ocid1|oc1|i)(?:[/.-]|$))[^/.-]+/g,
        'x',
      )
  )
}
