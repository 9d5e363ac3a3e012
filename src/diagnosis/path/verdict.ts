import type {Grade, Verdict} from '../../model/doctor.ts'
import {weakest} from '../../platforms/cell.ts'

export type VerdictWord = Verdict['verdict']

/** Where the client's address goes: the words of a hop's `at`, and two that are no hop. */
export type Lost = 'balancer' | 'node' | 'service-proxy' | 'receiver' | 'none' | 'unknown'

/** What a judgement rests on. */
export interface Ground {
  readonly grade: Grade
  readonly source: string
}

/** What is behind a verdict, for the checks that name a remedy. */
export type Cause =
  | 'receiver-without-sender'
  | 'sender-without-receiver'
  | 'sender-unseen'
  | 'receiver-unseen'
  | 'trust-list'
  | 'trust-family'
  | 'header-thrown-away'
  | 'loopback'
  | 'ipmode-on-announced'
  | 'header-version'
  | 'health-check'
  | 'no-address'
  | 'short-circuit'
  | 'self-call'
  | 'contradiction'
  | 'not-passed-on'
  | 'no-endpoints'
  | 'pods-differ'
  | 'dns-fix-partial'
  | 'dns-dangling'
  | 'injector-without-receiver'
  | 'unknown-value'
  | 'not-read'

/** A verdict with the hop that loses the address. */
export interface Judgement extends Verdict {
  readonly lost: Lost
  readonly cause?: Cause
}

/** The same verdict, with what is behind it. */
export function because(cause: Cause, judgement: Judgement): Judgement {
  return {...judgement, cause}
}

/**
 * Makes a verdict of a word and its grounds. One that rests on something unconfirmed is never `fine` or `not-needed`: it
 * becomes `depends`, with the check that would settle it.
 */
export function judge(
  verdict: VerdictWord,
  lost: Lost,
  why: string,
  grounds: readonly Ground[],
  check?: string,
): Judgement {
  const grade = weakest(grounds.map((ground) => ground.grade))
  const sources = [...new Set(grounds.map((ground) => ground.source))]
  const uncertain = grade === 'unconfirmed' && (verdict === 'fine' || verdict === 'not-needed')
  return {
    verdict: uncertain ? 'depends' : verdict,
    lost: uncertain ? 'unknown' : lost,
    why,
    grade,
    ...(check === undefined
      ? uncertain
        ? {check: 'verify outside and verify inside: look at what arrives'}
        : {}
      : {check}),
    sources,
  }
}
