import {exitCodes} from '../model/errors.ts'
import type {VerifyCheck} from '../model/verify.ts'

/** 22 when something did not hold, 21 when something could not be told, 30 when nothing answered at all, else 0 (docs/exit-codes.md). */
export function verifyExitCode(checks: readonly VerifyCheck[]): number {
  const isSilent = checks.length > 0 && checks.every(({verdict, seen}) => verdict !== 'held' && seen === undefined)
  if (isSilent && checks.every(({why}) => why.endsWith('(connecting)'))) return exitCodes.Unreachable
  if (checks.some(({verdict}) => verdict === 'failed')) return exitCodes.CheckFailed
  return checks.some(({verdict}) => verdict === 'unknown') || checks.length === 0 ? exitCodes.NeedsAction : 0
}

/** Of the answers of each name or node: how many held, for people who have to explain why it fails now and then. */
export function shares(checks: readonly VerifyCheck[]): string[] {
  const asked = checks.filter(({check}) => check === 'address' || check === 'reachable' || check === 'connection')
  const failed = asked.filter(({verdict}) => verdict === 'failed')
  return failed.length > 0 && failed.length < asked.length
    ? [`${failed.length} of ${asked.length} connections did not hold: some addresses or nodes differ from the others`]
    : []
}
