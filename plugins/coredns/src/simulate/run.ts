import type {CorednsVersion, ParsedCorefile} from '../types.ts'
import type {DnsMessage, Request} from './message.ts'
import type {RuleTrace} from './trace.ts'
import type {World} from './world.ts'

/** Takes a reply. A second one is written when a plugin both writes and returns an error code: a client takes the first. */
export type Writer = (message: DnsMessage) => void

/** Goes on with the next plugin of the chain. Out: the code it returns. */
export type Next = (write: Writer, request: Request) => string

/** One plugin of a block, ready to be asked. `serve` returns the code that Go's ServeDNS returns. */
export interface Step {
  readonly plugin: string
  readonly line: number
  readonly file: string
  readonly serve: (run: Run, write: Writer, request: Request, next: Next) => string
}

/** The plugin that took the name. */
export interface Claim {
  readonly plugin: string
  readonly file: string
  readonly line: number
  /** Why it took it: zone, entry, pattern. */
  readonly why: string
}

/** State of one simulated query. */
export interface Run {
  readonly parsed: ParsedCorefile
  readonly version: CorednsVersion
  readonly world: World
  readonly client: {readonly address?: string; readonly server?: string; readonly port?: string; readonly proto: string}
  /** Depth of look-ups that the server makes of itself; the trace is of depth 0. */
  readonly depth: number
  /** A step that returns a code because of a Go error, not as its answer, says so: `minimal` tells the two apart. */
  readonly fault: {raised: boolean}
  readonly claim: (claim: Claim) => void
  readonly rules: (traces: readonly RuleTrace[]) => void
  readonly note: (text: string) => void
  /** The name asked again on the same listener, from the choice of the block on. Out: the reply, undefined if none was written. */
  readonly lookup: (name: string, type: string, edns: boolean, because: string) => DnsMessage | undefined
}

/** The answer depends on something that is not known. */
export class AnswerUnknown extends Error {}

/** The server asks itself the same thing for ever. `path` names each question on the way. */
export class EndlessLookup extends Error {
  readonly path: readonly string[]
  constructor(path: readonly string[]) {
    super(`endless look-up: ${path.join(' -> ')}`)
    this.path = path
  }
}

/** CoreDNS panics here; the server recovers and answers SERVFAIL to the request as it stands. */
export class ServerPanic extends Error {}
