import type {LeaseLock} from '../kube/index.ts'
import {combineExitCodes, exitCodes} from '../model/errors.ts'
import type {Parts} from './assembly.ts'
import {aborted} from './lane.ts'
import type {Lane} from './lane.ts'
import type {RunOptions} from './options.ts'

/** How long one pass waits for sources that do not answer; after that it only adds. */
const syncMs = 60_000

/**
 * One pass of every output and its proof. Exit codes of design.md 4: 0 in step or proved, 21 written but not confirmed,
 * 22 put back, 23 some names refused or sources incomplete, 32 the text must not be touched, 33 somebody else holds the
 * Lease.
 */
export async function runOnce(
  parts: Parts,
  options: RunOptions,
  lock: LeaseLock | undefined,
  signal: AbortSignal,
): Promise<number> {
  await parts.sources.waitForSync(AbortSignal.any([signal, AbortSignal.timeout(syncMs)])).catch(() => undefined)
  signal.throwIfAborted()
  const scope = lock === undefined ? signal : AbortSignal.any([signal, await lock.acquire({signal})])
  const codes: number[] = parts.sources.complete ? [] : [exitCodes.Partial]
  await parts.ports.compare(scope)
  for (const lane of parts.lanes) {
    await lane.reconciler.reconcile(scope)
    if (!options.dryRun) await Promise.race([lane.reconciler.proofs.settled(), aborted(scope)])
    scope.throwIfAborted()
    codes.push(...codesOf(lane))
  }
  return combineExitCodes(codes)
}

function codesOf(lane: Lane): number[] {
  const {state, proofs, namesRefused} = lane.reconciler
  const codes: number[] = []
  if (state.result === 'failed') codes.push(state.exitCode)
  if (state.result === 'blocked') codes.push(exitCodes.Precondition)
  if (proofs.verdict === 'unconfirmed') codes.push(exitCodes.NeedsAction)
  if (proofs.verdict === 'reverted') codes.push(exitCodes.CheckFailed)
  if (proofs.verdict === 'failed' || namesRefused) codes.push(exitCodes.Partial)
  return codes
}
