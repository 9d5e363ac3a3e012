import type {VerifyCheck} from '../model/verify.ts'
import type {Reply} from './ask.ts'
import {plain} from './seen-address.ts'

/** What one CoreDNS pod answered for the name. */
export interface PodDnsAnswer {
  readonly pod: string
  readonly addresses: readonly string[]
  readonly rcode?: string | undefined
  readonly error?: string | undefined
}

/**
 * Every CoreDNS pod must lead to the proxy: `wanted` are the addresses of its Service; empty when there is none, and then nothing can
 * be said about the answers.
 */
export function dnsChecks(answers: readonly PodDnsAnswer[], wanted: readonly string[]): VerifyCheck[] {
  const goal = new Set(wanted.map(plain))
  return answers.map(({pod, addresses, rcode, error}): VerifyCheck => {
    const common = {check: 'dns', subject: pod, ...(wanted.length === 0 ? {} : {wanted: wanted.join(' ')})} as const
    if (error !== undefined) return {...common, verdict: 'unknown', why: error}
    const seen = addresses.length === 0 ? (rcode ?? 'no address') : addresses.join(' ')
    if (goal.size === 0)
      return {...common, verdict: 'unknown', seen, why: 'no proxy Service was found to compare with: --target names it'}
    const isRight = addresses.length > 0 && addresses.every((address) => goal.has(plain(address)))
    return {
      ...common,
      verdict: isRight ? 'held' : 'failed',
      seen,
      why: isRight ? 'the name leads to the proxy' : 'the name does not lead to the proxy',
    }
  })
}

/** A fresh connection through one pod of the proxy. */
export function connectionCheck(subject: string, reply: Reply): VerifyCheck {
  if (reply.kind === 'failure')
    return {
      check: 'connection',
      subject,
      verdict: 'failed',
      why: `${reply.reason}: the ingress did not take the connection`,
    }
  const isFine = reply.status !== 400 && reply.status < 500
  return {
    check: 'connection',
    subject,
    verdict: isFine ? 'held' : 'failed',
    seen: `HTTP ${reply.status}`,
    why: isFine ? 'answered through the proxy' : 'the answer is an error of the ingress or of the application',
  }
}
