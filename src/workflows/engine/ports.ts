import type {Plan, PlanOperation, PlanProof, RunSummary} from '../../model/plan.ts'

/** How an operation stands in the cluster now. */
export interface OperationLook {
  /** moved: neither what the plan found nor what it wants; somebody else has changed it. */
  readonly state: 'todo' | 'done' | 'moved'
  /** What moved, each naming object and field. */
  readonly reasons: readonly string[]
}

/** Answer to one question of a proof, now. */
export interface ProofAnswer {
  readonly holds: 'yes' | 'no' | 'unknown'
  /** It will not hold however long one waits: an operator that gave up, a guard that refused. */
  readonly never?: boolean
  readonly evidence: readonly string[]
}

export interface HeldLock {
  /** Aborts when the Lease is lost, with an SrcipError that says how. */
  readonly signal: AbortSignal
  release(): Promise<void>
}

/**
 * The life of one run as it stands in the cluster, in ConfigMap `srcip-run-<id>`: the plan with every previous value, and how far
 * it got. Enough to go on or back from another machine with an empty home.
 */
export interface RunRecord {
  readonly id: string
  readonly plan: Plan
  readonly status: RunSummary['status']
  readonly direction: 'forward' | 'back'
  /** Index of the step that may have been begun: written before each step that writes, so nothing behind it was begun. */
  readonly cursor: number
  readonly started: string
  readonly by: string
}

/** What the engine needs from outside; adapters in src/cli/workflow. */
export interface EnginePorts {
  look(operation: PlanOperation, signal: AbortSignal): Promise<OperationLook>
  /** Makes the change, with the values of the plan as its precondition. `server`: every write with dryRun=All. */
  act(
    operation: PlanOperation,
    options: {readonly dryRun: 'none' | 'server'; readonly step: string; readonly signal: AbortSignal},
  ): Promise<{readonly notes: readonly string[]}>
  prove(proof: PlanProof, signal: AbortSignal): Promise<ProofAnswer>
  /** Throws 31, naming verb and resource, unless every write of these operations is allowed. */
  mayDo(operations: readonly PlanOperation[], signal: AbortSignal): Promise<void>
  lock(runId: string, signal: AbortSignal): Promise<HeldLock>
  /** Stores the record: creates it the first time, replaces it with its version as precondition later. */
  saveRecord(record: RunRecord, signal: AbortSignal): Promise<void>
  newRun(): {readonly id: string; readonly by: string}
  /** RFC 3339, UTC. */
  timestamp(): string
  /** Milliseconds of a clock that only goes forward. */
  now(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
}
