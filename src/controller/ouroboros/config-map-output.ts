import {planCorefileText, planKeyText} from '../../cluster-dns/plan/plan-text.ts'
import {makeWrites, undoWrites} from '../../cluster-dns/write.ts'
import {resources} from '../../kube/index.ts'
import type {KubeClient} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {KubeObject, ObjectRef} from '../../model/kubernetes.ts'
import {foreignManagers} from '../dns-output.ts'
import type {Published} from '../names-guard.ts'
import type {Output, OutputPlan, OutputView, RefusedName, WrittenOutput} from '../output.ts'
import {publishedInState, serviceOf} from '../published-names.ts'

export interface ConfigMapOutputOptions {
  readonly client: KubeClient
  /** `coredns`: lines between markers in a Corefile; `coredns-import`: a key that is wholly the controller's. */
  readonly mode: 'coredns' | 'coredns-import'
  readonly namespace: string
  readonly configMap: string
  readonly key: string
  /** FQDN with final dot that every name leads to. */
  readonly target: string
}

/**
 * One key of one ConfigMap as an output, with the rights that the chart of ouroboros gives: `get` and `patch` of this object by name.
 * Where the key is read, and what the pods make of it, cannot be asked.
 */
export class ConfigMapOutput implements Output {
  readonly name = 'dns'
  readonly #options: ConfigMapOutputOptions

  constructor(options: ConfigMapOutputOptions) {
    this.#options = options
  }

  async read(targets: readonly string[], signal: AbortSignal): Promise<OutputView> {
    const {client, mode, namespace, configMap: name, key} = this.#options
    const live = await client.find(resources.configMaps, {namespace, name}, {signal})
    const data = (live?.['data'] ?? {}) as Readonly<Record<string, string | undefined>>
    const text = data[key]
    const object: ObjectRef = {apiVersion: 'v1', kind: 'ConfigMap', namespace, name}
    if (live === undefined || (text === undefined && mode === 'coredns')) {
      const what = live === undefined ? 'does not exist' : `has no key ${key}`
      throw new SrcipError('Precondition', `configmap/${namespace}/${name} ${what}`, {
        object: `configmap/${namespace}/${name}`,
        hints: [`kubectl -n ${namespace} get configmap ${name} -o yaml`],
      })
    }
    const bytes = text === undefined ? undefined : Buffer.from(text, 'utf8')
    const published = publishedInState(stateOf(mode, key, bytes), 'ouroboros', targets)
    return {
      version: `${live.metadata.uid} ${live.metadata.resourceVersion}`,
      published,
      object,
      managers: () => Promise.resolve(foreignManagers(live.metadata, key)),
      plan: (names) => this.#plan(live, text, bytes, published, names),
    }
  }

  #plan(
    live: KubeObject,
    before: string | undefined,
    bytes: Buffer | undefined,
    published: readonly Published[],
    names: readonly Published[],
  ): OutputPlan {
    const {mode, key, target, namespace, configMap} = this.#options
    const hosts = names.map(({name, kind}) => ({name, kind, target}))
    const request = {owner: 'ouroboros' as const, hosts, target}
    const {plan, after: next} =
      mode === 'coredns' ? corefileChange(bytes ?? new Uint8Array(), request) : planKeyText(key, bytes, request)
    const after = next === null || next === undefined ? null : Buffer.from(next).toString('utf8')
    const {refusal} = plan
    const isImmutable = live['immutable'] === true && after !== (before ?? null)
    const otherTool = plan.notes.find((note) => note.code === 'OtherOwner')
    const object = `configmap/${namespace}/${configMap}`
    const blocked = isImmutable
      ? {code: 'Immutable', reason: `${object} is immutable`, remedy: 'replace it by one that can be changed'}
      : refusal !== undefined
        ? {code: refusal.code, reason: `${object} key ${key}: ${refusal.reason}`, remedy: refusal.remedy}
        : otherTool !== undefined
          ? {
              code: 'OtherTool',
              reason: `${object} key ${key}: ${otherTool.text}`,
              remedy: 'stop one of the two controllers',
            }
          : undefined
    const stays = blocked !== undefined || (hosts.length > 0 && plan.taken.length === 0)
    const target0 = serviceOf(target)
    return {
      changes: !stays && after !== (before ?? null),
      refused: plan.refused.map(({name, code, reason, remedy}): RefusedName => ({name, code, reason, remedy})),
      blocked,
      warnings: plan.notes.map((note) => note.text),
      published: stays ? published : plan.taken.map(({name, kind}) => ({name, kind, target: target0})),
      bytes: after?.length ?? 0,
      write: (signal) => this.#write(live, before ?? null, after, signal),
    }
  }

  async #write(
    live: KubeObject,
    before: string | null,
    after: string | null,
    signal: AbortSignal,
  ): Promise<WrittenOutput> {
    const {client, namespace, configMap, key} = this.#options
    const {uid, resourceVersion} = live.metadata
    if (uid === undefined || resourceVersion === undefined)
      throw new SrcipError('Internal', `configmap/${namespace}/${configMap} came without uid and resourceVersion`)
    const done = await makeWrites(client, [{namespace, configMap, key, before, after, uid, resourceVersion}], {signal})
    return {
      prove: () =>
        Promise.resolve({
          verdict: 'unconfirmed',
          details: [
            {
              subject: `configmap/${namespace}/${configMap}`,
              verdict: 'unconfirmed',
              reason: "the rights of ouroboros' chart do not let CoreDNS pods be asked",
            },
          ],
        }),
      undo: async (stop) => {
        const [undone] = await undoWrites(client, done, {signal: stop})
        return {restored: undone?.restored === true, ...(undone?.reason === undefined ? {} : {reason: undone.reason})}
      },
    }
  }
}

function corefileChange(bytes: Uint8Array, request: Parameters<typeof planCorefileText>[1]) {
  const plan = planCorefileText(bytes, request)
  return {plan, after: plan.files.find((file) => file.file === '')?.after ?? bytes}
}

/** What publishedInState reads: the Corefile, or the key under the name that tells whose it is. */
function stateOf(mode: ConfigMapOutputOptions['mode'], key: string, bytes: Uint8Array | undefined) {
  const none = {source: '', key, bytes: new Uint8Array()}
  if (mode === 'coredns') return {corefile: {...none, bytes: bytes ?? none.bytes}, files: new Map<string, Uint8Array>()}
  const files = new Map(bytes === undefined ? [] : [['ouroboros.override', bytes] as const])
  return {corefile: none, files}
}
