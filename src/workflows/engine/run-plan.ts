import {apiVersion} from '../../model/documents.ts'
import {combineExitCodes, exitCodes, SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import type {Plan, PlanStep, RunResult, RunStep} from '../../model/plan.ts'
import type {EnginePorts, RunRecord} from './ports.ts'
import {reverseStep} from './reverse.ts'
import {comesFirst, isSuperseded, writes} from './touches.ts'
import {verifyStep, type Verified} from './verify-step.ts'

export interface RunOptions {
  readonly dryRun: 'none' | 'client' | 'server'
  /** Shows the plan and asks; resolves false when the person says no. */
  readonly approve: (plan: Plan) => Promise<boolean>
  /** How long a manual step is waited for before the run stops with 21; milliseconds, 0: one look. */
  readonly manualWaitMs: number
  readonly signal: AbortSignal
  readonly onEvent: EventSink
}

/**
 * Carries out a plan: each step check -> act -> verify, with undo where the step says so (design.md 6). Before the first write
 * everything is looked at: a value that is neither the plan's nor what it wants ends it with 32, a missing right with 31. Then the
 * Lease, then the question, then the record with every previous value; its cursor moves before each step that writes, so a run that
 * is killed anywhere goes on, or back, from what the cluster shows.
 *
 * Exit codes of the result: 0 done, 21 a manual step is open, 22 a proof failed and all was put back, 23 something is left written;
 * 30, 31, 32, 33 as an error ended it. Throws what ended it before the first write, and 124, 130, 143 with the command that goes on.
 */
export async function runPlan(ports: EnginePorts, plan: Plan, options: RunOptions): Promise<RunResult> {
  const blank = begun(plan, 'forward', options)
  if (plan.steps.length === 0) return blank.result('already-so', exitCodes.Ok)
  const looks = await lookAtAll(ports, plan, options.signal)
  if (options.dryRun === 'client') return blank.result('planned', exitCodes.Ok)
  await ports.mayDo(
    plan.steps.map((step) => step.operation),
    options.signal,
  )
  if (options.dryRun === 'server') {
    for (const [index, step] of plan.steps.entries()) {
      if (!writes(step) || looks[index] === 'done') continue
      const first = plan.steps.slice(0, index).find((before) => comesFirst(before.operation, step.operation))
      if (first !== undefined) {
        blank.note(index, 'pending', [`not checked by the server: it builds on what step ${first.id} writes`])
        continue
      }
      const {notes} = await ports.act(step.operation, {dryRun: 'server', step: step.id, signal: options.signal})
      blank.note(index, 'pending', notes)
    }
    return blank.result('planned', exitCodes.Ok)
  }
  const {id, by} = ports.newRun()
  const lock = await ports.lock(id, options.signal)
  try {
    if (!(await options.approve(plan))) throw new SrcipError('Usage', 'nothing was written: the plan was not confirmed')
    const record: RunRecord = {
      ...{id, plan, by, status: 'running', direction: 'forward', cursor: -1},
      started: ports.timestamp(),
    }
    return await new Walk(ports, record, options, lock.signal).forward(true)
  } finally {
    await lock.release()
  }
}

/** Goes on with a run from its record: what it finds done is looked at again, what it was about to do is done. */
export async function resumeRun(ports: EnginePorts, record: RunRecord, options: RunOptions): Promise<RunResult> {
  const {plan, id} = record
  if (record.status === 'done') return {...begun(plan, 'forward', options).result('already-so', exitCodes.Ok), run: id}
  await ports.mayDo(
    plan.steps.map((step) => step.operation),
    options.signal,
  )
  const lock = await ports.lock(id, options.signal)
  try {
    // whoever may write ConfigMaps there can write records: nothing of one is carried out unseen
    if (!(await options.approve(plan))) throw new SrcipError('Usage', 'nothing was written: going on was not confirmed')
    const walk = new Walk(ports, record, options, lock.signal)
    return record.direction === 'back' ? await walk.back() : await walk.forward(false)
  } finally {
    await lock.release()
  }
}

/** Takes a run back, last step first, each with its own proof. Steps that were never begun are left alone. */
export async function rollBackRun(ports: EnginePorts, record: RunRecord, options: RunOptions): Promise<RunResult> {
  const {plan, id} = record
  if (record.status === 'rolled-back')
    return {...begun(plan, 'back', options).result('already-so', exitCodes.Ok), run: id}
  const undo = plan.steps.slice(0, record.cursor + 1).flatMap((step) => reverseStep(step) ?? [])
  await ports.mayDo(
    undo.map((step) => step.operation),
    options.signal,
  )
  const lock = await ports.lock(id, options.signal)
  try {
    if (!(await options.approve(plan)))
      throw new SrcipError('Usage', 'nothing was written: the way back was not confirmed')
    return await new Walk(ports, record, options, lock.signal).back()
  } finally {
    await lock.release()
  }
}

/** Is the cluster still as the plan saw it? Later steps that write over earlier ones are looked at when their turn comes. */
async function lookAtAll(ports: EnginePorts, plan: Plan, signal: AbortSignal): Promise<('todo' | 'done')[]> {
  const looks: ('todo' | 'done')[] = []
  const moved: string[] = []
  for (const [index, step] of plan.steps.entries()) {
    const earlier = plan.steps.slice(0, index).some((before) => comesFirst(before.operation, step.operation))
    const look = writes(step) && !earlier ? await ports.look(step.operation, signal) : undefined
    if (look?.state === 'moved') moved.push(...look.reasons)
    looks.push(look?.state === 'done' ? 'done' : 'todo')
  }
  if (moved.length > 0) {
    throw new SrcipError('Precondition', `the plan is stale: ${moved.join('; ')}`, {
      hints: ['plan again: what is there now decides'],
    })
  }
  return looks
}

/** The steps of a result while they come about. */
function begun(plan: Plan, direction: RunResult['direction'], {dryRun}: Pick<RunOptions, 'dryRun'>) {
  const steps: RunStep[] = plan.steps.map(({id, title}) => ({
    id,
    title,
    state: 'pending',
    changed: false,
    evidence: [],
  }))
  return {
    note(index: number, state: RunStep['state'], evidence: readonly string[], changed = false): void {
      const before = steps[index]
      if (before === undefined) return
      steps[index] = {
        ...before,
        state,
        evidence: [...evidence],
        changed: state !== 'undone' && (before.changed || changed),
      }
    },
    wrote: (): boolean => steps.some((step) => step.changed),
    result(outcome: RunResult['outcome'], exitCode: number, more: Partial<RunResult> = {}): RunResult {
      const {operation, platform} = plan
      return {
        ...{apiVersion, kind: 'RunResult', operation, platform, direction, dryRun, outcome, steps, next: [], exitCode},
        changed: outcome === 'planned' ? steps.length > 0 : steps.some((step) => step.changed),
        warnings: [...plan.warnings],
        ...more,
      }
    },
  }
}

/** One way through the steps of a record, forward or back, under the lock. */
class Walk {
  readonly #ports: EnginePorts
  readonly #options: RunOptions
  readonly #signal: AbortSignal
  #record: RunRecord
  /** Did an earlier process of this run write? Then a failure leaves something. */
  #resumed = false

  constructor(ports: EnginePorts, record: RunRecord, options: RunOptions, lost: AbortSignal) {
    this.#ports = ports
    this.#record = record
    this.#options = options
    this.#signal = AbortSignal.any([options.signal, lost])
  }

  async forward(fresh: boolean): Promise<RunResult> {
    const {plan} = this.#record
    const state = begun(plan, 'forward', this.#options)
    this.#resumed = !fresh && this.#record.cursor >= 0
    const reached = this.#record.cursor
    try {
      if (!fresh) await this.#save({status: 'running'})
      for (const [index, step] of plan.steps.entries()) {
        if (index < reached && (!writes(step) || isSuperseded(plan.steps, index, reached))) {
          state.note(index, 'done', ['done before'])
          continue
        }
        const ended = await this.#takeStep(step, index, state)
        if (ended !== undefined) return ended
      }
      await this.#save({status: 'done'})
      return this.#result(state, state.wrote() || this.#resumed ? 'done' : 'already-so', exitCodes.Ok)
    } catch (error) {
      return await this.#ended(error, state)
    }
  }

  /** Check, act, verify; a result means that the run ends here. */
  async #takeStep(step: PlanStep, index: number, state: ReturnType<typeof begun>): Promise<RunResult | undefined> {
    const {proved, acted, evidence} = await this.#makeAndProve(step, index, state, async () => {
      if (index > this.#record.cursor) await this.#save({cursor: index})
    })
    if (proved) return undefined
    if (step.action === 'manual') {
      state.note(index, 'waiting', evidence)
      await this.#save({status: 'waiting'})
      return this.#result(state, 'waiting', exitCodes.NeedsAction, {
        reason: `${step.title}: ${evidence.at(-1) ?? 'not proved'}`,
        next: [...step.instructions, this.#command('resume'), this.#command('rollback')],
      })
    }
    const mayHaveWritten = acted || (this.#resumed && index <= this.#record.cursor && writes(step))
    return step.onFailure === 'undo' && mayHaveWritten
      ? await this.#undo(step, index, state, evidence)
      : await this.#fail(step, index, state, evidence)
  }

  /** The same in both directions: look, write where that is due, tell a person what to do, prove, and say what became of it. */
  async #makeAndProve(
    step: PlanStep,
    index: number,
    state: ReturnType<typeof begun>,
    beforeWrite: () => Promise<void>,
  ): Promise<Verified & {readonly acted: boolean}> {
    const {onEvent} = this.#options
    this.#signal.throwIfAborted()
    onEvent({type: 'step-started', step: step.id, title: step.title})
    let acted = false
    if (writes(step)) {
      const look = await this.#ports.look(step.operation, this.#signal)
      if (look.state === 'moved') throw new SrcipError('Precondition', look.reasons.join('; '))
      if (look.state === 'todo') {
        await beforeWrite()
        acted = true
        // from here on the write may have reached the cluster, whatever becomes of its answer
        state.note(index, 'pending', [], true)
        await this.#ports.act(step.operation, {dryRun: 'none', step: step.id, signal: this.#signal})
      }
    }
    const manual = step.action === 'manual'
    if (manual) for (const line of step.instructions) onEvent({type: 'info', message: line})
    const limitMs = manual ? this.#options.manualWaitMs : step.limitSeconds * 1000
    const {proved, evidence} = await verifyStep(this.#ports, step, {signal: this.#signal, onEvent, limitMs})
    if (proved) {
      state.note(index, acted ? 'done' : 'already-so', evidence, acted)
      onEvent({type: 'step-done', step: step.id, title: step.title, changed: acted, ...detail(evidence)})
    } else {
      onEvent({type: 'step-failed', step: step.id, title: step.title, reason: evidence.join('; ') || 'not proved'})
    }
    return {proved, acted, evidence}
  }

  async #undo(
    step: PlanStep,
    index: number,
    state: ReturnType<typeof begun>,
    evidence: readonly string[],
  ): Promise<RunResult> {
    const back = reverseStep(step)
    if (back === undefined) return await this.#fail(step, index, state, evidence)
    const {onEvent} = this.#options
    onEvent({type: 'step-started', step: back.id, title: back.title})
    // the way back is not stopped by the signal that may have ended the way there; its own limit ends it
    const signal = AbortSignal.timeout(Math.max(60_000, back.limitSeconds * 2000))
    try {
      await this.#ports.act(back.operation, {dryRun: 'none', step: back.id, signal})
      const proof = await verifyStep(this.#ports, back, {signal, onEvent})
      if (!proof.proved) throw new SrcipError('Partial', `put back, but not proved: ${proof.evidence.join('; ')}`)
      onEvent({type: 'step-done', step: back.id, title: back.title, changed: true})
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      onEvent({type: 'step-failed', step: back.id, title: back.title, reason})
      state.note(index, 'left', [...evidence, reason], true)
      await this.#save({status: 'failed'}).catch(() => undefined)
      return this.#result(state, 'failed', exitCodes.Partial, {
        reason: `${step.title}: ${evidence.at(-1) ?? 'not proved'}; the way back failed: ${reason}`,
        next: [this.#command('rollback')],
      })
    }
    state.note(index, 'undone', evidence)
    const left = state.wrote() || (this.#resumed && index > 0)
    await this.#save({status: 'failed', cursor: index - 1}).catch(() => undefined)
    return this.#result(state, 'undone', left ? exitCodes.Partial : exitCodes.CheckFailed, {
      reason: `${step.title}: ${evidence.at(-1) ?? 'not proved'}; this step was put back`,
      next: left ? [this.#command('resume'), this.#command('rollback')] : [],
    })
  }

  async #fail(
    step: PlanStep,
    index: number,
    state: ReturnType<typeof begun>,
    evidence: readonly string[],
  ): Promise<RunResult> {
    state.note(index, 'failed', evidence)
    const left = state.wrote() || this.#resumed
    await this.#save({status: 'failed'})
    return this.#result(state, 'failed', left ? exitCodes.Partial : exitCodes.Precondition, {
      reason: `${step.title}: ${evidence.at(-1) ?? 'not proved'}`,
      next: left ? [this.#command('resume'), this.#command('rollback')] : [],
    })
  }

  async back(): Promise<RunResult> {
    const {plan} = this.#record
    const state = begun(plan, 'back', this.#options)
    const kept: string[] = []
    try {
      await this.#save({status: 'rolling-back', direction: 'back'})
      for (let index = this.#record.cursor; index >= 0; index--) {
        const original = plan.steps[index]
        if (original === undefined) continue
        const step = reverseStep(original)
        if (step === undefined) {
          if (writes(original) && !original.reversible) kept.push(original.title)
          continue
        }
        // the cursor is behind this step already: a way back that is killed takes it up here again
        const {proved, acted, evidence} = await this.#makeAndProve(step, index, state, async () => undefined)
        if (!proved) {
          const manual = step.action === 'manual'
          state.note(index, manual ? 'waiting' : 'failed', evidence, acted)
          await this.#save({cursor: index})
          return this.#result(
            state,
            manual ? 'waiting' : 'failed',
            manual ? exitCodes.NeedsAction : exitCodes.Partial,
            {
              reason: `${step.title}: ${evidence.at(-1) ?? 'not proved'}`,
              next: [...step.instructions, this.#command('rollback')],
            },
          )
        }
        // the next step back may need a person; what is behind us is not done again
        if (writes(step)) await this.#save({cursor: index - 1})
      }
      await this.#save({status: 'rolled-back', cursor: -1})
      return this.#result(state, 'rolled-back', kept.length > 0 ? exitCodes.Partial : exitCodes.Ok, {
        warnings: [...plan.warnings, ...kept.map((title) => `not taken back, nothing can: ${title}`)],
      })
    } catch (error) {
      return await this.#ended(error, state)
    }
  }

  /** An error in the middle: signals and limits go on as they are, with the command that goes on; the rest is a result. */
  async #ended(error: unknown, state: ReturnType<typeof begun>): Promise<RunResult> {
    const command = this.#command(this.#record.direction === 'back' ? 'rollback' : 'resume')
    const {signal} = this.#options
    if (signal.aborted) {
      const {reason} = signal
      if (!(reason instanceof SrcipError)) throw reason
      throw new SrcipError(reason.code, reason.message, {exitCode: reason.exitCode, hints: [command], cause: error})
    }
    if (this.#signal.aborted) error = this.#signal.reason
    if (!(error instanceof SrcipError)) throw error
    await this.#save({status: 'failed'}).catch(() => undefined)
    const left = state.wrote() || this.#resumed
    return this.#result(state, 'failed', combineExitCodes([error.exitCode, left ? exitCodes.Partial : exitCodes.Ok]), {
      reason: error.message,
      next: [...error.hints, ...(left ? [command, this.#command('rollback')] : [])],
    })
  }

  #result(
    state: ReturnType<typeof begun>,
    outcome: RunResult['outcome'],
    exitCode: number,
    more: Partial<RunResult> = {},
  ): RunResult {
    return {...state.result(outcome, exitCode, more), run: this.#record.id}
  }

  async #save(change: Partial<Pick<RunRecord, 'status' | 'cursor' | 'direction'>>): Promise<void> {
    const next = {...this.#record, ...change}
    await this.#ports.saveRecord(next, this.#signal.aborted ? AbortSignal.timeout(5000) : this.#signal)
    this.#record = next
  }

  #command(verb: 'resume' | 'rollback'): string {
    return `kubectl srcip ${verb} ${this.#record.id}`
  }
}

function detail(evidence: readonly string[]): {readonly detail?: string} {
  const last = evidence.at(-1)
  return last === undefined ? {} : {detail: last}
}
