import {SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import type {PlanProof, PlanStep} from '../../model/plan.ts'
import type {EnginePorts, ProofAnswer} from './ports.ts'

/** What the proofs of a step came to. */
export interface Verified {
  readonly proved: boolean
  readonly evidence: readonly string[]
}

/** Between two rounds of questions: a switch is watched closely, slow releases are not. */
const paceMs = {short: 250, long: 2000} as const

/**
 * Asks the proofs of a step until all of them hold in the same round, one says that it never will, or the time limit has passed.
 * An API server that does not answer is no evidence: the question is put again until the limit.
 */
export async function verifyStep(
  ports: Pick<EnginePorts, 'prove' | 'now' | 'sleep'>,
  step: Pick<PlanStep, 'id' | 'title' | 'proofs' | 'limitSeconds'>,
  {signal, onEvent, limitMs}: {readonly signal: AbortSignal; readonly onEvent: EventSink; readonly limitMs?: number},
): Promise<Verified> {
  const started = ports.now()
  const until = started + (limitMs ?? step.limitSeconds * 1000)
  let said = ''
  for (;;) {
    const answers: ProofAnswer[] = []
    for (const proof of step.proofs) {
      answers.push(await ask(ports, proof, signal))
      if (answers.at(-1)?.holds !== 'yes') break
    }
    const evidence = answers.flatMap((answer) => answer.evidence)
    if (answers.every((answer) => answer.holds === 'yes')) return {proved: true, evidence}
    const open = answers.at(-1)
    const now = ports.now()
    if (open?.never === true || now >= until) return {proved: false, evidence}
    const message = open?.evidence.at(-1) ?? step.proofs[answers.length - 1]?.title ?? step.title
    if (message !== said) onEvent({type: 'step-progress', step: step.id, message})
    said = message
    const pace = now - started < 60_000 ? paceMs.short : paceMs.long
    await ports.sleep(Math.max(1, Math.min(pace, until - now)), signal)
  }
}

async function ask(ports: Pick<EnginePorts, 'prove'>, proof: PlanProof, signal: AbortSignal): Promise<ProofAnswer> {
  try {
    return await ports.prove(proof, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SrcipError && (error.code === 'Unreachable' || error.code === 'Timeout'))
      return {holds: 'unknown', evidence: [`${proof.title}: ${error.message}`]}
    throw error
  }
}
