/** DNS messages as plain data, and the request that travels through the plugins of a block. */

export interface Question {
  readonly name: string
  readonly type: string
  readonly class: string
}

/** One record. */
export interface DnsRecord {
  readonly name: string
  readonly type: string
  readonly ttl: number
  /** The name in the data of CNAME, NS, PTR, DNAME, MX, SRV, NAPTR and SOA (mname): what reply rules may change. */
  readonly target?: string
  /** The data, or what stands beside the target (preference of an MX and so on). */
  readonly data: string
}

export interface DnsMessage {
  readonly rcode: string
  readonly question: Question
  readonly answer: readonly DnsRecord[]
  readonly authority: readonly DnsRecord[]
  /** An EDNS option record, where the server puts one, is a record of type OPT. */
  readonly additional: readonly DnsRecord[]
}

/** A request on its way: `rewrite` changes the question in place, `cache` hands a copy on. */
export interface Request {
  question: Question
  /** The request carries an OPT record. */
  edns: boolean
}

/** In: a request. Out: one that can be changed without the other. */
export function copyRequest(request: Request): Request {
  return {question: request.question, edns: request.edns}
}

/** In: the request, a code and the records. Out: the reply to it, its question as the request has it now. */
export function replyTo(
  request: Request,
  rcode: string,
  sections: Partial<Pick<DnsMessage, 'answer' | 'authority' | 'additional'>> = {},
): DnsMessage {
  return {rcode, question: request.question, answer: [], authority: [], additional: [], ...sections}
}

/** The OPT record that the server copies from the request into a reply of its own. */
export const optRecord: DnsRecord = {name: '.', type: 'OPT', ttl: 0, data: ''}
