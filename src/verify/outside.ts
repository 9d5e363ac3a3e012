import type {VerifyCheck} from '../model/verify.ts'
import type {Question, Reply} from './ask.ts'
import {plain, seenAddress, trustAdvice} from './seen-address.ts'

/** What `verify outside` is to prove. */
export interface OutsideRequest {
  /** A page behind the way in; only that it answers counts. */
  readonly url: URL
  /** What answers with the address it saw, behind the same way in. */
  readonly echo: URL
  /** The address that the backend must have seen. */
  readonly from: string
  /** Every address to ask, by a fresh connection each: those of the name, and of the nodes with `--each-node`. */
  readonly addresses: readonly {readonly address: string; readonly subject: string; readonly port?: number}[]
  /** Connections of each kind; an answer that differs between two of them shows up. */
  readonly times: number
  /** Ports that must not answer. */
  readonly mustRefuse: readonly {readonly address: string; readonly port: number}[]
}

/** Puts one question on a fresh connection to an address. */
export type AskPort = (address: string, question: Question) => Promise<Reply>

/** From documentation ranges (RFC 5737, RFC 3849): nobody has them. The second is for the case that somebody tests with the first. */
const forged = ['198.51.100.231', '203.0.113.231']

/**
 * Asks every address for the page and for the echo, then tries to lie: X-Forwarded-For, X-Real-IP, Forwarded and a PROXY header of
 * our own must not change what the backend sees. One row a question; nothing is held because it was not asked.
 */
export async function verifyOutside(request: OutsideRequest, ask: AskPort): Promise<VerifyCheck[]> {
  const checks: VerifyCheck[] = []
  const lie = forged.find((address) => address !== plain(request.from))!
  for (const {address, subject, port} of request.addresses) {
    const to = (url: URL, more: Partial<Question> = {}): Promise<Reply> =>
      ask(address, {...questionOf(url, port), ...more})
    for (let time = 0; time < request.times; time++) {
      if (request.echo.href !== request.url.href) checks.push(reachable(subject, await to(request.url)))
      checks.push(addressCheck(subject, await to(request.echo), request.from))
    }
    if (!checks.some((one) => one.subject === subject && one.check === 'address' && one.seen !== undefined)) continue
    for (const [check, headers] of [
      ['forged-x-forwarded-for', {'x-forwarded-for': lie}],
      ['forged-x-real-ip', {'x-real-ip': lie}],
      ['forged-forwarded', {forwarded: `for=${lie}`}],
    ] as const)
      checks.push(forgedCheck(check, subject, await to(request.echo, {headers}), lie))
    const prefix = Buffer.from(`PROXY TCP4 ${lie} 192.0.2.1 40000 ${port ?? portOf(request.echo)}\r\n`)
    checks.push(forgedCheck('forged-proxy-header', subject, await to(request.echo, {prefix}), lie))
  }
  for (const {address, port} of request.mustRefuse) {
    const reply = await ask(address, {...questionOf(request.url), port})
    checks.push(refusal(`${address}:${port}`, reply))
  }
  return checks
}

/** The question for a URL; the port differs where a node's own port is asked. */
export function questionOf(url: URL, port = portOf(url)): Question {
  return {
    secure: url.protocol === 'https:',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port,
    path: `${url.pathname}${url.search}`,
  }
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
}

function reachable(subject: string, reply: Reply): VerifyCheck {
  if (reply.kind === 'failure') return {check: 'reachable', subject, verdict: 'failed', why: failure(reply)}
  const isFine = reply.status < 500 && reply.status !== 400
  return {
    check: 'reachable',
    subject,
    verdict: isFine ? 'held' : 'failed',
    seen: `HTTP ${reply.status}`,
    why: isFine ? 'a fresh connection was answered' : 'the answer is an error of the ingress or of the application',
  }
}

function addressCheck(subject: string, reply: Reply, from: string): VerifyCheck {
  const wanted = plain(from)
  if (reply.kind === 'failure') return {check: 'address', subject, verdict: 'failed', wanted, why: failure(reply)}
  const seen = reply.status < 400 ? seenAddress(reply.body) : undefined
  if (seen === undefined) {
    return {
      check: 'address',
      subject,
      verdict: 'unknown',
      wanted,
      why: `HTTP ${reply.status}, and the answer tells no address: --echo must lead to an echo such as kubectl srcip whoami`,
    }
  }
  return {
    check: 'address',
    subject,
    verdict: seen.address === wanted ? 'held' : 'failed',
    seen: seen.address,
    wanted,
    why: trustAdvice(reply.body, wanted) ?? `${seen.where} of the echo`,
  }
}

function forgedCheck(check: VerifyCheck['check'], subject: string, reply: Reply, lie: string): VerifyCheck {
  if (reply.kind === 'failure') {
    // A header in the wrong place may be refused; a request with one more field may not make a working way in fail.
    if (check === 'forged-proxy-header') return {check, subject, verdict: 'held', why: `refused: ${reply.reason}`}
    return {check, subject, verdict: 'unknown', why: failure(reply)}
  }
  if (check === 'forged-proxy-header' && reply.status === 400)
    return {check, subject, verdict: 'held', why: 'refused with HTTP 400'}
  const seen = seenAddress(reply.body)
  if (seen === undefined) return {check, subject, verdict: 'unknown', why: 'the answer tells no address'}
  const believed = seen.address === lie
  return {
    check,
    subject,
    verdict: believed ? 'failed' : 'held',
    seen: seen.address,
    why: believed
      ? `anybody can claim an address: the forged ${lie} was believed`
      : `the forged ${lie} was not believed`,
  }
}

function refusal(subject: string, reply: Reply): VerifyCheck {
  const isOpen = reply.kind === 'answer' && reply.status !== 400
  return {
    check: 'must-refuse',
    subject,
    verdict: isOpen ? 'failed' : 'held',
    ...(reply.kind === 'answer' ? {seen: `HTTP ${reply.status}`} : {}),
    why: isOpen
      ? 'it answers, so the way around the balancer is open'
      : reply.kind === 'answer'
        ? 'refused with HTTP 400'
        : reply.reason,
  }
}

function failure(reply: Extract<Reply, {kind: 'failure'}>): string {
  const where = {connect: 'connecting', tls: 'in the TLS handshake', http: 'waiting for the answer'}[reply.stage]
  return `${reply.reason} (${where})`
}
