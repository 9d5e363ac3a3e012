import type {ObjectRef} from '../model/kubernetes.ts'
import type {Published} from './names-guard.ts'

/** Where names are written. */
export type OutputName = 'dns' | 'hosts' | 'external-dns'

/** A name that an output does not take. */
export interface RefusedName {
  readonly name: string
  readonly code: string
  readonly reason: string
  readonly remedy?: string
}

/** Why an output is not touched at all. */
export interface Blocked {
  /** One word from a closed list: a refusal code of the editor, `Immutable`, `TooLarge`, `TargetInvalid`. */
  readonly code: string
  readonly reason: string
  readonly remedy?: string
}

/** A place that names are published in. Read, plan, write, prove and undo are separate, so that each can fail by itself. */
export interface Output {
  readonly name: OutputName
  /** What stands there now. `names` are those that may be wanted: their targets are looked up in the same pass. */
  read(targets: readonly string[], signal: AbortSignal): Promise<OutputView>
}

export interface OutputView {
  /** Changes with everything that a plan depends on beside the names. */
  readonly version: string
  /** Names of ours that stand there now. */
  readonly published: readonly Published[]
  /** What an event about this output regards. */
  readonly object: ObjectRef | undefined
  /** Field managers of the text, for messages about foreign writers. */
  managers(): Promise<readonly string[]>
  /** Plans, writes nothing. `spared`: names that keep their own answer under a wanted wildcard. */
  plan(names: readonly Published[], spared: readonly string[]): OutputPlan
}

export interface OutputPlan {
  readonly changes: boolean
  readonly refused: readonly RefusedName[]
  readonly blocked: Blocked | undefined
  readonly warnings: readonly string[]
  /** Names that will stand there, without those refused. */
  readonly published: readonly Published[]
  /** Bytes of the text after the write. */
  readonly bytes: number
  /** Makes the write with its precondition. Throws a Conflict when the object has moved on. */
  write(signal: AbortSignal): Promise<WrittenOutput>
}

/** How far a write is proved. */
export interface Proof {
  readonly verdict: 'done' | 'failed' | 'unconfirmed'
  readonly details: readonly {
    readonly subject: string
    readonly verdict: string
    readonly reason?: string
    readonly afterMs?: number
  }[]
}

export interface WrittenOutput {
  prove(signal: AbortSignal): Promise<Proof>
  /** Puts back what was there; false with a reason where somebody else has written since. */
  undo(signal: AbortSignal): Promise<{readonly restored: boolean; readonly reason?: string}>
  /**
   * Called before a later write is put back, which leaves this one standing: what counts as evidence from now on is what
   * happens after this moment. Absent where nothing is counted.
   */
  renew?(signal: AbortSignal): Promise<void>
  /** Called when the later write has been put back, so that this one can be put back in its turn. */
  standsAgain?(later: WrittenOutput): void
}
