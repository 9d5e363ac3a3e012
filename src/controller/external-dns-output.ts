import {createHash} from 'node:crypto'
import {resources, sleep} from '../kube/index.ts'
import type {Clock, KubeClient, Resource} from '../kube/index.ts'
import {componentLabel} from '../model/dns.ts'
import type {KubeObject, ObjectRef} from '../model/kubernetes.ts'
import {annotationLimit, externalDnsObject, ownPart, publishedInObject} from './external-dns-objects.ts'
import type {ExternalDnsSettings} from './external-dns-objects.ts'
import type {Published} from './names-guard.ts'
import type {Blocked, Output, OutputPlan, OutputView, Proof, RefusedName, WrittenOutput} from './output.ts'
import {readTargets, targetsOf, withAddresses} from './targets.ts'
import type {AddressedName, TargetAddresses} from './targets.ts'

/** The kind of ExternalDNS' source `crd`. */
export const dnsEndpoints: Resource = {
  group: 'externaldns.k8s.io',
  version: 'v1alpha1',
  plural: 'dnsendpoints',
  kind: 'DNSEndpoint',
  namespaced: true,
}
/** Bytes of an object that the API server and etcd take with room to spare (etcd: 1.5 MiB a request). */
const objectLimit = 1_000_000

export interface ExternalDnsOptions {
  readonly client: Pick<KubeClient, 'find' | 'apply' | 'delete'>
  readonly settings: ExternalDnsSettings
  readonly wildcards: boolean
  readonly verifyTimeoutMs: number
  readonly clock: Clock
}

/**
 * ExternalDNS as an output: one object that is wholly ours, by server-side apply. It is proved when ExternalDNS says in
 * the object's status that it has read this generation; where it says nothing the write stays unconfirmed.
 */
export class ExternalDnsOutput implements Output {
  readonly name = 'external-dns'
  readonly #options: ExternalDnsOptions
  readonly #resource: Resource

  constructor(options: ExternalDnsOptions) {
    this.#options = options
    this.#resource = options.settings.as === 'endpoint' ? dnsEndpoints : resources.services
  }

  async read(targets: readonly string[], signal: AbortSignal): Promise<OutputView> {
    const {client, settings} = this.#options
    const {namespace, name} = settings
    const live = await client.find(this.#resource, {namespace, name}, {signal})
    const published = publishedInObject(settings, live)
    const addresses = await readTargets(client, targetsOf(targets, published), signal)
    const {group, version, kind} = this.#resource
    const object: ObjectRef = {apiVersion: group === '' ? version : `${group}/${version}`, kind, namespace, name}
    return {
      version: createHash('sha256')
        .update(ownPart(live))
        .update(JSON.stringify([...addresses]))
        .digest('hex'),
      published,
      object,
      managers: () =>
        Promise.resolve(
          (live?.metadata.managedFields ?? [])
            .flatMap((entry) => entry.manager ?? [])
            .filter((manager) => manager !== 'kubectl-srcip'),
        ),
      plan: (names) => this.#plan(live, addresses, names),
    }
  }

  #plan(
    live: KubeObject | undefined,
    addresses: ReadonlyMap<string, TargetAddresses>,
    names: readonly Published[],
  ): OutputPlan {
    const {settings, wildcards} = this.#options
    const wild = names.filter((entry) => entry.kind !== 'exact')
    const asked = wildcards && settings.as === 'endpoint' ? names : names.filter((entry) => entry.kind === 'exact')
    const {taken, refused: unfit} = withAddresses(asked, addresses)
    const refused = wildcards && settings.as === 'service' ? [...unfit, ...wild.map(wildcardInService)] : unfit
    const wanted = taken.length === 0 ? undefined : externalDnsObject(settings, taken)
    const bytes = wanted === undefined ? 0 : Buffer.byteLength(JSON.stringify(wanted))
    return {
      changes: ownPart(live) !== ownPart(wanted),
      refused,
      blocked: blockedBy(live, wanted, taken, settings, bytes),
      warnings: [],
      published: taken.map(({name, kind, target}) => ({name, kind, target})),
      bytes,
      write: (signal) => this.#write(live, wanted, signal),
    }
  }

  async #write(
    live: KubeObject | undefined,
    wanted: KubeObject | undefined,
    signal: AbortSignal,
  ): Promise<WrittenOutput> {
    const {client, settings} = this.#options
    const {namespace, name} = settings
    let generation: number | undefined
    if (wanted === undefined) {
      const {uid, resourceVersion} = live?.metadata ?? {}
      await client.delete(this.#resource, {namespace, name}, {uid, resourceVersion, signal})
    } else {
      const applied = await client.apply<KubeObject>(this.#resource, wanted, {signal})
      generation = applied.metadata.generation
    }
    return {
      prove: (stop) => this.#prove(wanted === undefined ? undefined : generation, stop),
      undo: () => Promise.resolve({restored: false, reason: 'ExternalDNS gives no evidence against a write'}),
    }
  }

  /** `status.observedGeneration` of a DNSEndpoint; a Service has nothing of the kind. */
  async #prove(generation: number | undefined, signal: AbortSignal): Promise<Proof> {
    const {client, settings, clock, verifyTimeoutMs} = this.#options
    const {namespace, name} = settings
    const subject = `${this.#resource.kind.toLowerCase()}/${namespace}/${name}`
    if (generation === undefined || settings.as === 'service') {
      return {
        verdict: 'unconfirmed',
        details: [{subject, verdict: 'unconfirmed', reason: 'ExternalDNS does not say when it has read it'}],
      }
    }
    for (const end = clock.now() + verifyTimeoutMs; clock.now() < end; await sleep(clock, 2000, signal)) {
      const live = await client.find(this.#resource, {namespace, name}, {signal}).catch(() => undefined)
      const status = (live?.['status'] ?? {}) as {observedGeneration?: unknown}
      if (typeof status.observedGeneration === 'number' && status.observedGeneration >= generation) {
        return {verdict: 'done', details: [{subject, verdict: 'done'}]}
      }
    }
    return {
      verdict: 'unconfirmed',
      details: [{subject, verdict: 'unconfirmed', reason: 'ExternalDNS has not read it yet'}],
    }
  }
}

function wildcardInService({name}: Published): RefusedName {
  return {
    name,
    code: 'WildcardUnsupported',
    reason: 'an annotated Service cannot say how deep a wildcard reaches',
    remedy: 'use --external-dns-as endpoint',
  }
}

function blockedBy(
  live: KubeObject | undefined,
  wanted: KubeObject | undefined,
  names: readonly AddressedName[],
  settings: ExternalDnsSettings,
  bytes: number,
): Blocked | undefined {
  const object = `${settings.namespace}/${settings.name}`
  if (live !== undefined && live.metadata.labels?.[componentLabel] !== 'controller') {
    return {
      code: 'NotOurs',
      reason: `${object} exists and does not carry our label`,
      remedy: 'name another object with --external-dns-name',
    }
  }
  if (wanted === undefined) return undefined
  if (settings.as === 'service') {
    const size = Object.entries(wanted.metadata.annotations ?? {}).reduce(
      (sum, [key, value]) => sum + key.length + value.length,
      0,
    )
    if (size > annotationLimit) {
      return {
        code: 'TooLarge',
        reason: `the annotations of ${object} would hold ${size} bytes, ${annotationLimit} are the limit`,
        remedy: 'use --external-dns-as endpoint',
      }
    }
    if (new Set(names.map((entry) => entry.target)).size > 1) {
      return {
        code: 'SeveralTargets',
        reason: `the names of ${object} go to several proxies, which one Service cannot say`,
        remedy: 'use --external-dns-as endpoint',
      }
    }
  }
  return bytes > objectLimit
    ? {
        code: 'TooLarge',
        reason: `${object} would hold ${bytes} bytes, ${objectLimit} are the limit`,
        remedy: 'use fewer names, or --write-to corefile',
      }
    : undefined
}
