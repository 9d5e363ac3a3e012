import {SrcipError, type ErrorCode} from '../model/errors.ts'
import {cleanText, redactText} from './text.ts'

/** A registry's answer that is not the one hoped for, with the codes of its error document. */
export class RegistryError extends SrcipError {
  readonly status: number
  /** The registry that answered; absent where an error was made from another. */
  host: string | undefined
  /** Codes of the distribution spec, e.g. MANIFEST_UNKNOWN. */
  readonly codes: readonly string[]
  /** Text of the registry, cleaned for printing. */
  readonly detail: string

  constructor(
    status: number,
    codes: readonly string[],
    detail: string,
    message: string,
    code: ErrorCode,
    hints: readonly string[] = [],
  ) {
    super(code, message, {hints})
    this.name = 'RegistryError'
    this.status = status
    this.codes = codes
    this.detail = detail
  }
}

/** Reads `{"errors":[{code,message,detail}]}`; anything else (a proxy's HTML page) becomes plain text. */
export function readErrorBody(body: string): {codes: string[]; detail: string} {
  try {
    const document: unknown = JSON.parse(body)
    const errors = (document as {errors?: unknown}).errors
    if (Array.isArray(errors)) {
      const entries = errors
        .slice(0, 5)
        .map((entry: unknown) =>
          typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : {},
        )
      const codes = entries
        .map((entry) => cleanText(typeof entry['code'] === 'string' ? entry['code'] : '', 60))
        .filter((code) => code !== '')
      const texts = entries.map((entry) =>
        [entry['code'], entry['message']].filter((part) => typeof part === 'string' && part !== '').join(': '),
      )
      return {codes, detail: redactText(texts.join('; '))}
    }
  } catch {
    // Not JSON: the text itself is shown.
  }
  return {codes: [], detail: redactText(body.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' '))}
}

/** Which exit code a refused request ends in. */
function codeOf(status: number, codes: readonly string[]): ErrorCode {
  if (status === 401 || status === 403 || codes.includes('DENIED') || codes.includes('UNAUTHORIZED')) return 'Denied'
  if (status === 408 || status === 425 || status === 429 || status >= 500) return 'Unreachable'
  return 'Precondition'
}

/**
 * The error for an answer nobody expected.
 * @param what the request in words: "blob sha256:… of host/path"
 */
export function refusedBy(
  host: string,
  what: string,
  status: number,
  body: string,
  hints: readonly string[] = [],
): RegistryError {
  const {codes, detail} = readErrorBody(body)
  const text = detail === '' ? '' : `: ${detail}`
  const error = new RegistryError(
    status,
    codes,
    detail,
    `${what}: ${host} answered ${status}${text}`,
    codeOf(status, codes),
    hints,
  )
  error.host = host
  return error
}

/** Was the answer "not there"? A registry may say so with 404 only. */
export function isNotFound(error: unknown): error is RegistryError {
  return error instanceof RegistryError && error.status === 404
}
