import type {Outcome} from './probe-bytes.ts'

/** What an endpoint takes. `unknown` until a probe has shown it; never again after that. */
export type Verdict = 'header' | 'plain' | 'unknown'

/** Why an endpoint is not ready; a closed list, the tokens of `/readyz` and metrics. */
export type EndpointCause =
  'not-probed' | 'target-unreachable' | 'header-refused' | 'target-cuts' | 'target-mute' | 'answer-unclear'

/** What is known of one address and port of the target. */
export interface EndpointState {
  readonly verdict: Verdict
  /** Probes in a row that gave no verdict. */
  readonly failures: number
  readonly cause: EndpointCause | undefined
}

export const unprobed: EndpointState = {verdict: 'unknown', failures: 0, cause: 'not-probed'}

/** Probes without a verdict that are forgiven, so that one lost packet does not take a proxy out of its Service. */
const forgiven = 1

/**
 * The state after one round of probing. A probe that errs changes nothing about the verdict.
 *
 * @param withHeader outcome of the request behind a PROXY header; undefined if it was not tried
 * @param plain outcome of the bare request; undefined if it was not tried
 */
export function judge(
  before: EndpointState,
  withHeader: Outcome | undefined,
  plain: Outcome | undefined,
): EndpointState {
  if (withHeader === 'answer') return {verdict: 'header', failures: 0, cause: undefined}
  // A receiver that answers the bare request does not demand a header; and it has not taken one, or was not asked.
  if (plain === 'answer' && withHeader !== 'unreachable') return {verdict: 'plain', failures: 0, cause: undefined}
  const failures = before.failures + 1
  if (failures <= forgiven && before.verdict !== 'unknown') return {...before, failures}
  return {verdict: before.verdict, failures, cause: causeOf(withHeader, plain)}
}

function causeOf(withHeader: Outcome | undefined, plain: Outcome | undefined): EndpointCause {
  const last = plain ?? withHeader
  if (withHeader === 'unreachable' || plain === 'unreachable') return 'target-unreachable'
  if (last === 'cut') return 'target-cuts'
  return last === 'mute' ? 'target-mute' : 'answer-unclear'
}

/** True if the endpoint is fit for traffic: `always` needs one that takes the header, `auto` one that answers either way. */
export function isFit(mode: 'always' | 'auto', state: EndpointState): boolean {
  return causeFor(mode, state) === undefined
}

/** Why the endpoint is not fit in this mode; undefined if it is. */
export function causeFor(mode: 'always' | 'auto', state: EndpointState): EndpointCause | undefined {
  if (state.cause !== undefined) return state.cause
  return mode === 'always' && state.verdict === 'plain' ? 'header-refused' : undefined
}

const explanations: Readonly<Record<EndpointCause, string>> = {
  'not-probed': 'was not probed yet',
  'target-unreachable': 'does not take a connection',
  'header-refused': 'answers without a PROXY header and not behind one: PROXY protocol is off there',
  'target-cuts': 'closes the connection without an answer, with a PROXY header and without',
  'target-mute': 'takes the connection and does not answer in time',
  'answer-unclear':
    'gives an answer that does not tell whether it takes a PROXY header; name a host it serves with --probe-host',
}

/** The cause in words, to stand after the name of the endpoint. */
export function explain(cause: EndpointCause): string {
  return explanations[cause]
}
