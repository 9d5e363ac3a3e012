import {createHash} from 'node:crypto'
import {hasStatus, resources} from '../../kube/index.ts'
import type {KubeClient, Resource} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import {dnsEndpoints} from '../external-dns-output.ts'
import type {Published} from '../names-guard.ts'
import type {Output, OutputPlan, OutputView, WrittenOutput} from '../output.ts'
import {readTargets} from '../targets.ts'
import {nameInRecord, recordSelector, recordsFor, recordStands} from './records.ts'
import type {RecordSettings} from './records.ts'

export interface RecordsOutputOptions {
  readonly client: KubeClient
  readonly settings: RecordSettings
  /** Addresses that are given; undefined: the ClusterIPs of the target Service. */
  readonly proxyIp: string | undefined
}

/** What differs between the records that stand and those that are wanted. */
interface RecordChange {
  readonly create: readonly KubeObject[]
  readonly update: readonly {readonly live: KubeObject; readonly wanted: KubeObject}[]
  readonly remove: readonly KubeObject[]
}

/** Records for ExternalDNS in the form of ouroboros, one object a name; foreign objects of the same name are never taken over. */
export class RecordsOutput implements Output {
  readonly name = 'external-dns'
  readonly #options: RecordsOutputOptions
  readonly #resource: Resource

  constructor(options: RecordsOutputOptions) {
    this.#options = options
    this.#resource = options.settings.output === 'crd' ? dnsEndpoints : resources.services
  }

  async read(targets: readonly string[], signal: AbortSignal): Promise<OutputView> {
    const {client, settings} = this.#options
    const {namespace, instance} = settings
    const {items} = await client.list(this.#resource, {namespace, labelSelector: recordSelector(instance), signal})
    const [target = ''] = targets
    const addresses = await this.#addresses(target, signal)
    const names = new Set(items.flatMap((item) => nameInRecord(item, settings) ?? []))
    return {
      version: createHash('sha256')
        .update(JSON.stringify([addresses, items.map(({metadata}) => [metadata.uid, metadata.resourceVersion])]))
        .digest('hex'),
      published: [...names].map((name) => ({name, kind: 'exact', target})),
      object: undefined,
      managers: () => Promise.resolve([]),
      plan: (wanted) => this.#plan(items, addresses, wanted),
    }
  }

  async #addresses(target: string, signal: AbortSignal): Promise<readonly string[]> {
    const {client, proxyIp} = this.#options
    if (proxyIp !== undefined) return [proxyIp]
    const found = (await readTargets(client, [target], signal)).get(target)
    if (found !== undefined && 'addresses' in found) return found.addresses
    throw new SrcipError('Precondition', found?.reason ?? `service/${target} was not read`, {
      object: `service/${target}`,
      hints: [found?.remedy ?? 'give --external-dns-proxy-ip'],
    })
  }

  #plan(items: readonly KubeObject[], addresses: readonly string[], names: readonly Published[]): OutputPlan {
    const wanted = names.flatMap(({name}) => recordsFor(name, addresses, this.#options.settings))
    const live = new Map(items.map((item) => [item.metadata.name, item]))
    const kept = new Set(wanted.map(({metadata}) => metadata.name))
    const change: RecordChange = {
      create: wanted.filter(({metadata}) => !live.has(metadata.name)),
      update: wanted.flatMap((object) => {
        const found = live.get(object.metadata.name)
        return found === undefined || recordStands(found, object) ? [] : [{live: found, wanted: object}]
      }),
      remove: items.filter(({metadata}) => !kept.has(metadata.name)),
    }
    return {
      changes: change.create.length + change.update.length + change.remove.length > 0,
      refused: [],
      blocked: undefined,
      warnings: [],
      published: names,
      bytes: JSON.stringify(wanted).length,
      write: (signal) => this.#write(change, signal),
    }
  }

  async #write({create, update, remove}: RecordChange, signal: AbortSignal): Promise<WrittenOutput> {
    const {client} = this.#options
    for (const object of create) await this.#create(object, signal)
    for (const {live, wanted} of update) {
      const metadata = {...live.metadata, labels: wanted.metadata.labels, annotations: wanted.metadata.annotations}
      const spec = this.#resource === dnsEndpoints ? wanted['spec'] : live['spec']
      await client.update(
        this.#resource,
        {...live, kind: wanted.kind, apiVersion: wanted.apiVersion, metadata, spec} as KubeObject,
        {signal},
      )
    }
    for (const {metadata} of remove) {
      const {namespace, name, uid} = metadata
      await client.delete(this.#resource, {namespace, name: name ?? ''}, {uid, signal})
    }
    const details = [
      {
        subject: 'external-dns',
        verdict: 'unconfirmed',
        reason: 'ExternalDNS does not say when it has read these records',
      },
    ]
    return {
      prove: () => Promise.resolve({verdict: 'unconfirmed', details}),
      undo: () => Promise.resolve({restored: false, reason: 'ExternalDNS gives no evidence against a write'}),
    }
  }

  async #create(object: KubeObject, signal: AbortSignal): Promise<void> {
    try {
      await this.#options.client.create(this.#resource, object, {signal})
    } catch (error) {
      if (!hasStatus(error, 409)) throw error
      const text = `${this.#resource.kind.toLowerCase()}/${object.metadata.namespace}/${object.metadata.name}`
      throw new SrcipError('Precondition', `${text} exists and is not of this release: it is not taken over`, {
        object: text,
        hints: ['rename that object, or take another namespace: --external-dns-namespace'],
        cause: error,
      })
    }
  }
}
