/**
 * The closed list of ways a command can end, with the exit code a script sees (docs/exit-codes.md).
 * `Interrupted` is 130 for SIGINT; SIGTERM sets 143 on the instance.
 */
export const exitCodes = {
  Ok: 0,
  Internal: 1,
  Usage: 2,
  Changed: 20,
  NeedsAction: 21,
  CheckFailed: 22,
  Partial: 23,
  Unreachable: 30,
  Denied: 31,
  Precondition: 32,
  Conflict: 33,
  Timeout: 124,
  Interrupted: 130,
} as const

export type ExitName = keyof typeof exitCodes
export type ErrorCode = Exclude<ExitName, 'Ok' | 'Changed'>

export interface SrcipErrorOptions {
  /** What to type or do next, most useful first. Shown below the message. */
  readonly hints?: readonly string[]
  /** `kind.group/namespace/name` of the object concerned, or a file name. */
  readonly object?: string
  readonly cause?: unknown
  /** Only for `Interrupted` by SIGTERM (143). */
  readonly exitCode?: number
}

/**
 * An error that a person can act on. Everything else that reaches the error boundary is reported as a bug (exit 1).
 * Messages start in lower case, name the object and the reason, and carry no secret.
 */
export class SrcipError extends Error {
  readonly code: ErrorCode
  readonly exitCode: number
  readonly hints: readonly string[]
  readonly object: string | undefined

  constructor(code: ErrorCode, message: string, options: SrcipErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : {cause: options.cause})
    this.name = 'SrcipError'
    this.code = code
    this.exitCode = options.exitCode ?? exitCodes[code]
    this.hints = options.hints ?? []
    this.object = options.object
  }
}

/** Which of several outcomes decides the exit code: design.md 4, "when several hold, the first counts". */
const precedence: readonly number[] = [22, 33, 31, 32, 30, 21, 23]

/**
 * Combines the exit codes of parts into one: the first of 22, 33, 31, 32, 30, 21, 23 that occurs, else 0.
 * Codes outside this list (1, 2, 124, signals) end a command at once and never reach here.
 */
export function combineExitCodes(codes: Iterable<number>): number {
  const seen = new Set(codes)
  return precedence.find((code) => seen.has(code)) ?? 0
}
