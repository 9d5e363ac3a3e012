import type {KubeObject} from '../../../../src/model/kubernetes.ts'
import {
  absent,
  present,
  type FieldChange,
  type Plan,
  type PlanProof,
  type PlanStep,
} from '../../../../src/model/plan.ts'
import type {Proof} from '../../../../src/model/proofs.ts'
import {SrcipError} from '../../../../src/model/errors.ts'
import {lookAtFields, patchBody, readField} from '../../../../src/workflows/engine/fields.ts'
import type {EnginePorts, RunRecord} from '../../../../src/workflows/engine/ports.ts'
import type {RunOptions} from '../../../../src/workflows/engine/run-plan.ts'
import {sealPlan} from '../../../../src/workflows/engine/seal-plan.ts'
import {sameValue} from '../../../../src/workflows/engine/canonical.ts'

/** Ends a run as kill -9 does: nothing of the run goes on after it. */
export class Killed extends Error {}

/**
 * A cluster of plain objects for the engine: what the engine does with a process that dies at any moment can be tried in thousands of
 * places here; the same with a real API server is test/cluster/enable.
 */
export class FakeCluster {
  readonly objects = new Map<string, KubeObject>()
  readonly records = new Map<string, RunRecord>()
  /** Everything that was written, in order. */
  readonly writes: string[] = []
  readonly log: string[] = []
  /** Answers of proofs by title; absent: read from the objects. */
  readonly verdicts = new Map<string, boolean>()
  readonly denied = new Set<string>()
  #clock = 0
  #calls = 0
  /** The nth write of a process (from 1 on) is where it dies. */
  killAt: {readonly nth: number; readonly when: 'before' | 'after'} | undefined
  /** Told before each write, so that somebody else can write first. */
  beforeWrite: ((text: string) => void) | undefined
  held = false

  constructor(objects: Readonly<Record<string, Readonly<Record<string, unknown>>>>) {
    for (const [name, data] of Object.entries(objects))
      this.objects.set(name, {kind: 'ConfigMap', metadata: {name, namespace: 'x', uid: `uid-${name}`}, data})
  }

  data(): Record<string, unknown> {
    return Object.fromEntries([...this.objects].map(([name, object]) => [name, object['data']]))
  }

  #write(text: string, change: () => void): void {
    this.#calls += 1
    this.beforeWrite?.(text)
    if (this.killAt?.nth === this.#calls && this.killAt.when === 'before') throw new Killed(text)
    change()
    this.writes.push(text)
    if (this.killAt?.nth === this.#calls && this.killAt.when === 'after') throw new Killed(text)
  }

  /** Ports of one process; a new one after each kill. */
  ports(id = '20260101-000000-abcdef'): EnginePorts {
    return {
      look: async (operation) => {
        if (operation.op !== 'patch') return {state: 'done', reasons: []}
        return lookAtFields(this.objects.get(operation.object.name), operation)
      },
      act: async (operation, {dryRun}) => {
        if (operation.op !== 'patch') return {notes: []}
        const {name} = operation.object
        const live = this.objects.get(name)
        const look = lookAtFields(live, operation)
        if (dryRun === 'server') return {notes: [`${name} checked`]}
        if (look.state === 'moved') throw new SrcipError('Conflict', look.reasons.join('; '))
        this.#write(`patch ${name}`, () =>
          this.objects.set(name, merged(live, patchBody(operation.fields)) as KubeObject),
        )
        return {notes: []}
      },
      prove: async (proof) => {
        const {title} = proof
        const said = this.verdicts.get(title)
        if (said !== undefined) return {holds: said ? 'yes' : 'no', evidence: [`${title}: ${said}`]}
        const {object, path, equals} = proof as unknown as Extract<Proof, {proof: 'field'}>
        const value = readField(this.objects.get(object.name), path)
        return {holds: sameValue(value, equals) ? 'yes' : 'no', evidence: [title]}
      },
      mayDo: async (operations) => {
        const missing = operations.flatMap((one) =>
          one.op === 'patch' && this.denied.has(one.object.name) ? [one.object.name] : [],
        )
        if (missing.length > 0) throw new SrcipError('Denied', `not allowed to patch ${missing.join(', ')}`)
      },
      lock: async () => {
        if (this.held) throw new SrcipError('Conflict', 'lease/kube-system/srcip is held by somebody')
        this.held = true
        return {
          signal: new AbortController().signal,
          release: async () => {
            this.held = false
          },
        }
      },
      saveRecord: async (record) =>
        this.#write(`record ${record.status} ${record.cursor}`, () => this.records.set(record.id, record)),
      newRun: () => ({id, by: 'somebody@somewhere'}),
      timestamp: () => '2026-01-01T00:00:00Z',
      now: () => this.#clock,
      sleep: async (ms, signal) => {
        this.#clock += ms
        await Promise.resolve()
        signal.throwIfAborted()
      },
    }
  }

  /** What a killed process leaves: its lock runs out. */
  afterDeath(): void {
    this.held = false
    this.killAt = undefined
    this.#calls = 0
  }
}

/** JSON merge patch (RFC 7396). */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result: Record<string, unknown> = {...(typeof target === 'object' && target !== null ? target : {})}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = merged(result[key], value)
  }
  return result
}

/** A step that gives one key of one object a value, proved by reading it. */
export function setStep(
  id: string,
  name: string,
  change: {readonly key: string; readonly before?: unknown; readonly after: unknown},
  more: Partial<PlanStep> = {},
): PlanStep {
  const field: FieldChange = {
    path: ['data', change.key],
    before: change.before === undefined ? absent : present(change.before),
    after: present(change.after),
  }
  const object = {group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap', namespace: 'x', name}
  const proof = (title: string, equals: FieldChange['after']): PlanProof =>
    ({proof: 'field', title, object, path: field.path, equals}) as unknown as PlanProof
  return {
    ...{
      id,
      title: `set ${name}`,
      action: 'update',
      limitSeconds: 5,
      instructions: [],
      reversible: true,
      onFailure: 'stop',
    },
    operation: {op: 'patch', object, uid: `uid-${name}`, fields: [field]},
    proofs: [proof(`${id} holds`, field.after)],
    undo: {title: `unset ${name}`, proofs: [proof(`${id} is back`, field.before)], limitSeconds: 5, instructions: []},
    ...more,
  }
}

/** A step for a person. */
export function manualStep(id: string): PlanStep {
  const proofs = [{proof: 'said', title: `${id} was done`}]
  return {
    ...{id, title: `do ${id}`, action: 'manual', operation: {op: 'none'}, limitSeconds: 0, reversible: true},
    ...{proofs, instructions: [`please do ${id}`], onFailure: 'stop'},
    undo: {
      title: `undo ${id}`,
      proofs: [{proof: 'said', title: `${id} was undone`}],
      limitSeconds: 0,
      instructions: [`please undo ${id}`],
    },
  }
}

export function planOf(...steps: readonly PlanStep[]): Plan {
  return sealPlan({
    ...{operation: 'enable', platform: 'generic', scope: {namespace: 'kube-system', subject: 'service/x/y'}},
    ...{cluster: {uid: 'cluster'}, toolVersion: '0', inputs: {}, orders: [], warnings: []},
    steps: [...steps],
  })
}

export function options(more: Partial<RunOptions> = {}): RunOptions {
  return {
    ...{dryRun: 'none', approve: async () => true, manualWaitMs: 0},
    signal: new AbortController().signal,
    onEvent: () => undefined,
    ...more,
  }
}
