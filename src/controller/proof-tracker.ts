import type {Log} from '../kube/index.ts'
import type {ObjectRef} from '../model/kubernetes.ts'
import type {Proof, WrittenOutput} from './output.ts'
import type {Conditions, EventSinkPort} from './reports.ts'

/** `failed`: refuted, and somebody else has written since, so that nothing could be put back. */
export type ProofVerdict = 'done' | 'unconfirmed' | 'reverted' | 'failed'

export interface ProofTrackerOptions {
  readonly log: Log
  readonly events: EventSinkPort
  readonly conditions: Conditions
  readonly onVerdict: (verdict: ProofVerdict, fingerprint: string) => void
}

interface What {
  readonly fingerprint: string
  readonly regarding: ObjectRef | undefined
  readonly output: string
}

/** A write whose proof has not come. */
interface Open {
  readonly written: WrittenOutput
  readonly what: What
}

interface Followed extends Open {
  readonly controller: AbortController
  readonly task: Promise<void>
}

/**
 * Waits for the proof of the newest write beside the work queue: a reload takes up to two minutes a pod, and a newer set
 * must not wait for it. A newer write ends the wait for the older one, whose text is gone then.
 */
export class ProofTracker {
  readonly #options: ProofTrackerOptions
  #current: Followed | undefined
  #verdict: ProofVerdict | 'pending' | 'none' = 'none'

  constructor(options: ProofTrackerOptions) {
    this.#options = options
  }

  /** Verdict on the newest write. */
  get verdict(): ProofVerdict | 'pending' | 'none' {
    return this.#verdict
  }

  follow(written: WrittenOutput, what: What): void {
    // Should the new write be put back, the one before stands again, and nobody has proved it yet.
    const older = this.#verdict === 'pending' || this.#verdict === 'unconfirmed' ? this.#current : undefined
    const before: Open | undefined = older === undefined ? undefined : {written: older.written, what: older.what}
    this.#current?.controller.abort(new Error('a newer write has replaced this one'))
    const controller = new AbortController()
    this.#verdict = 'pending'
    const task = this.#prove({written, what}, before, controller.signal).catch((error: unknown) => {
      if (controller.signal.aborted) return
      this.#options.log.error('the proof of a write could not be followed', {error})
      this.#end('unconfirmed', what.fingerprint)
    })
    this.#current = {written, what, controller, task}
  }

  /** Resolves when the proof under way has come to its end. */
  async settled(): Promise<void> {
    await this.#current?.task
  }

  /** Stops waiting; nothing is put back. */
  async close(): Promise<void> {
    this.#current?.controller.abort(new Error('shutting down'))
    await this.#current?.task
  }

  async #prove({written, what}: Open, before: Open | undefined, signal: AbortSignal): Promise<void> {
    const {log, events, conditions} = this.#options
    const proof = await written.prove(signal)
    const fields = {output: what.output, details: proof.details}
    if (proof.verdict === 'done') {
      const note = `${what.output} is in effect: ${countOf(proof)}`
      log.info(note, fields)
      events.emit({regarding: what.regarding, type: 'Normal', reason: 'Proved', action: 'Prove', note})
      conditions.clear('unconfirmed', 'the newest write is confirmed')
      conditions.clear('reverted', 'a newer set is in effect')
      return this.#end('done', what.fingerprint)
    }
    if (proof.verdict === 'unconfirmed') {
      conditions.raise('unconfirmed', {
        reason: 'Unconfirmed',
        note: `the write stays, but is not confirmed: ${reasonsOf(proof)}`,
        regarding: what.regarding,
        fields,
      })
      return this.#end('unconfirmed', what.fingerprint)
    }
    // A signal that comes now must not cut the way back: undo has its own limit.
    const limit = AbortSignal.timeout(60_000)
    await before?.written.renew?.(limit).catch(() => undefined)
    const undone = await written.undo(limit)
    conditions.raise('reverted', {
      reason: 'Reverted',
      note: undone.restored
        ? `CoreDNS did not take the write, the previous text is back: ${reasonsOf(proof)}`
        : `CoreDNS did not take the write, and it could not be put back (${undone.reason ?? 'unknown'}): ${reasonsOf(proof)}`,
      regarding: what.regarding,
      fields,
    })
    this.#end(undone.restored ? 'reverted' : 'failed', what.fingerprint)
    if (before === undefined || !undone.restored || signal.aborted) return
    log.info('the text that stands again was never confirmed, its proof begins anew', {output: what.output})
    before.written.standsAgain?.(written)
    this.#verdict = 'pending'
    await this.#prove(before, undefined, signal)
  }

  #end(verdict: ProofVerdict, fingerprint: string): void {
    this.#verdict = verdict
    this.#options.onVerdict(verdict, fingerprint)
  }
}

function countOf(proof: Proof): string {
  return `${proof.details.filter((entry) => entry.verdict === 'done').length} of ${proof.details.length} pods answer so`
}

function reasonsOf(proof: Proof): string {
  const open = proof.details.filter((entry) => entry.verdict !== 'done')
  const shown = open.slice(0, 3).map((entry) => `${entry.subject}: ${entry.reason ?? entry.verdict}`)
  return `${shown.join('; ')}${open.length > 3 ? ` and ${open.length - 3} more` : ''}`
}
