import type {LeaseLock} from '../kube/index.ts'
import {combineExitCodes, exitCodes} from '../model/errors.ts'
import type {RunOptions} from './options.ts'
import type {Parts} from './run.ts'

/** How long one pass waits for sources that do not answer; after that it only adds. */
const syncMs = 60_000

/**
 * One pass and its proof. Exit codes of design.md 4: 0 in step or proved, 21 written but not confirmed, 22 put back,
 * 23 some names refused or sources incomplete, 32 the text must not be touched, 33 somebody else holds the Lease.
 */
export async function runOnce(
  parts: Parts,
  options: RunOptions,
  lock: LeaseLock | undefined,
  signal: AbortSignal,
): Promise<number> {
  await waitForSources(parts, signal)
  const scope = lock === undefined ? signal : AbortSignal.any([signal, await lock.acquire({signal})])
  await parts.reconciler.reconcile(scope)
  if (!options.dryRun) await Promise.race([parts.reconciler.proofs.settled(), abortOf(scope)])
  scope.throwIfAborted()
  const {state, proofs} = parts.reconciler
  const codes: number[] = []
  if (state.result === 'failed') codes.push(state.exitCode)
  if (state.result === 'blocked') codes.push(exitCodes.Precondition)
  if (proofs.verdict === 'unconfirmed') codes.push(exitCodes.NeedsAction)
  if (proofs.verdict === 'reverted') codes.push(exitCodes.CheckFailed)
  if (proofs.verdict === 'failed') codes.push(exitCodes.Partial)
  if (!parts.sources.complete || parts.conditions.active.has('names-refused')) codes.push(exitCodes.Partial)
  return combineExitCodes(codes)
}

async function waitForSources(parts: Parts, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(syncMs)])
  await parts.sources.waitForSync(limit).catch(() => undefined)
  signal.throwIfAborted()
}

async function abortOf(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), {once: true}))
}
