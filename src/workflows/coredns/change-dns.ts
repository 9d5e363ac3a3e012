import {announce} from '../engine/announce.ts'
import type {CorednsPlan, CorednsResult, DnsProof} from '../../model/coredns-plan.ts'
import {apiVersion} from '../../model/documents.ts'
import {combineExitCodes, exitCodes, SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import type {CorednsPorts, PlannedChange} from './ports.ts'

export interface ChangeDnsOptions {
  readonly operation: CorednsResult['operation']
  readonly dryRun: CorednsResult['dryRun']
  /** Shows the plan and asks; resolves false when the person says no. */
  readonly approve: (plan: CorednsPlan) => Promise<boolean>
  readonly signal: AbortSignal
  readonly onEvent: EventSink
}

/**
 * Changes cluster DNS and proves it: check (plan, rights, lock) -> act (write) -> verify (every pod), with the previous bytes put
 * back on evidence against the change (design.md 5). `apply` and `clean` differ only in their plan.
 *
 * Exit codes of the result: 0 stands, 21 written but not every pod could be asked, 22 refused by a pod and put back, 23 some hosts
 * refused (or something is left written), 32 nothing could be taken. Throws 31, 33, 30 and 124 from the ports.
 */
export async function changeDns<State, Change, Baseline, Written>(
  ports: CorednsPorts<State, Change, Baseline, Written>,
  options: ChangeDnsOptions,
): Promise<CorednsResult> {
  try {
    return await checkAndChange(ports, options)
  } catch (error) {
    // whatever a call makes of being cut off: it was the signal or the time limit that ended this, and their exit code counts
    if (options.signal.aborted) throw options.signal.reason
    throw error
  }
}

async function checkAndChange<State, Change, Baseline, Written>(
  ports: CorednsPorts<State, Change, Baseline, Written>,
  options: ChangeDnsOptions,
): Promise<CorednsResult> {
  const {onEvent, signal} = options
  onEvent({type: 'step-started', step: 'check', title: 'read cluster DNS and plan the change'})
  const state = await ports.load(signal)
  const {document, change} = ports.plan(state)
  onEvent({
    type: 'step-done',
    step: 'check',
    title: 'read cluster DNS and plan the change',
    changed: false,
    detail: summary(document),
  })
  if (document.exitCode === exitCodes.Precondition || document.exitCode === exitCodes.Conflict)
    return resultOf(options, document, 'refused', undefined)
  if (change === undefined) return await confirmStanding(ports, state, document, options)
  if (options.dryRun === 'client') return resultOf(options, document, 'planned', undefined)
  await ports.check(state, change, signal)
  if (options.dryRun === 'server') {
    await ports.write(change, 'server', signal)
    return resultOf(options, document, 'planned', undefined)
  }
  // the lock before the question: nobody should confirm a diff that cannot be written
  const lock = await ports.lock(state, signal)
  try {
    if (!(await options.approve(document)))
      throw new SrcipError('Usage', 'nothing was written: the change was not confirmed')
    return await writeAndProve(
      ports,
      state,
      {document, change},
      {...options, signal: AbortSignal.any([signal, lock.signal])},
    )
  } finally {
    await lock.release()
  }
}

async function writeAndProve<State, Change, Baseline, Written>(
  ports: CorednsPorts<State, Change, Baseline, Written>,
  state: State,
  {document, change}: PlannedChange<Change> & {change: Change},
  options: ChangeDnsOptions,
): Promise<CorednsResult> {
  const {onEvent, signal} = options
  const baseline = await ports.baseline(state, signal)
  const written = await announce(onEvent, {step: 'write', title: 'write the change', changed: () => true}, () =>
    ports.write(change, 'none', signal),
  )
  onEvent({type: 'step-started', step: 'verify', title: 'wait for every CoreDNS pod'})
  let proof: DnsProof
  try {
    proof = await ports.prove(state, change, written, baseline, signal)
  } catch (error) {
    onEvent({
      type: 'warning',
      message: `the change is written and not proved: run coredns ${options.operation} again to prove it`,
    })
    throw error
  }
  if (proof.verdict !== 'failed') {
    onEvent({
      type: 'step-done',
      step: 'verify',
      title: 'wait for every CoreDNS pod',
      changed: false,
      detail: podSummary(proof),
    })
    return resultOf(options, document, proof.verdict === 'done' ? 'proved' : 'unproved', proof)
  }
  onEvent({type: 'step-failed', step: 'verify', title: 'wait for every CoreDNS pod', reason: reasonOf(proof)})
  const {restored, reason} = await ports.undo(state, written)
  onEvent(
    restored
      ? {type: 'info', message: 'the previous bytes were put back'}
      : {type: 'warning', message: `the previous bytes were not put back: ${reason ?? 'unknown reason'}`},
  )
  return resultOf(
    options,
    document,
    restored ? 'undone' : 'left',
    proof,
    restored ? [] : [`the change stays written: ${reason ?? ''}`],
  )
}

/** Nothing to write. What stands is worth as much as what was written only if the pods say so. */
async function confirmStanding<State, Change, Baseline, Written>(
  ports: CorednsPorts<State, Change, Baseline, Written>,
  state: State,
  document: CorednsPlan,
  options: ChangeDnsOptions,
): Promise<CorednsResult> {
  const change = ports.standing(state, document)
  if (change === undefined || options.dryRun !== 'none') return resultOf(options, document, 'already-so', undefined)
  const proof = await ports.prove(state, change, undefined, undefined, options.signal)
  return resultOf(options, document, 'already-so', proof)
}

function resultOf(
  options: ChangeDnsOptions,
  plan: CorednsPlan,
  outcome: CorednsResult['outcome'],
  proof: DnsProof | undefined,
  warnings: readonly string[] = [],
): CorednsResult {
  const planned = outcome === 'planned' && plan.edits.length > 0
  return {
    apiVersion,
    kind: 'CorednsResult',
    operation: options.operation,
    dryRun: options.dryRun,
    outcome,
    plan,
    pods: proof?.pods ?? [],
    exitCode: combineExitCodes([plan.exitCode, exitCodeOf(outcome, proof)]),
    changed: planned || outcome === 'proved' || outcome === 'unproved' || outcome === 'left',
    warnings: [...plan.warnings, ...warnings],
  }
}

function exitCodeOf(outcome: CorednsResult['outcome'], proof: DnsProof | undefined): number {
  if (outcome === 'undone') return exitCodes.CheckFailed
  if (outcome === 'left') return exitCodes.Partial
  if (proof?.verdict === 'unconfirmed') return exitCodes.NeedsAction
  return outcome === 'already-so' && proof?.verdict === 'failed' ? exitCodes.CheckFailed : exitCodes.Ok
}

function summary(plan: CorednsPlan): string {
  return `${plan.hosts.length} hosts, ${plan.refused.length} refused, ${plan.edits.length === 0 ? 'nothing to write' : `${plan.edits.length} edits`}`
}

function podSummary(proof: DnsProof): string {
  const done = proof.pods.filter((pod) => pod.verdict === 'done').length
  return `${done} of ${proof.pods.length} pods proved`
}

function reasonOf(proof: DnsProof): string {
  return proof.pods
    .filter((pod) => pod.verdict === 'failed')
    .map((pod) => `pod/${pod.namespace}/${pod.name} ${pod.reason ?? ''}`)
    .join('; ')
}
