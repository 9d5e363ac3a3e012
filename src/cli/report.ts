import {Errors} from '@oclif/core'
import {apiVersion, type ErrorDocument} from '../model/documents.ts'
import {SrcipError} from '../model/errors.ts'

/** What the error boundary makes of anything thrown: the exit code, the lines for stderr, and the document for `-o json|yaml`. */
export interface ErrorReport {
  readonly exitCode: number
  readonly lines: readonly string[]
  readonly document: ErrorDocument | undefined
}

/**
 * Turns any thrown value into an exit code and words. SrcipErrors carry both; every error that oclif throws itself is a usage
 * error (style.md F6); the rest is a bug (1), with its stack from `--v 4` on.
 */
export function reportError(error: unknown, options: {readonly verbosity: number} = {verbosity: 0}): ErrorReport {
  if (error instanceof Errors.ExitError) return {exitCode: error.oclif.exit ?? 0, lines: [], document: undefined}
  if (error instanceof SrcipError)
    return describe(error.code, error.exitCode, error.message, error.hints, error, options.verbosity)
  if (error instanceof Errors.CLIError) {
    const [message = '', ...rest] = error.message.replaceAll('\nSee more help with --help', '').split('\n')
    const text = missingArguments(message, rest) ?? [lowerFirst(message), ...rest].join('\n')
    return describe(
      'Usage',
      2,
      text,
      error.suggestions?.length ? error.suggestions : ['add --help to see how the command is used'],
      error,
      options.verbosity,
    )
  }
  const message = error instanceof Error ? error.message : String(error)
  return describe(
    'Internal',
    1,
    `this is a bug in srcip: ${message}`,
    ['run again with --v 4 and report what it prints'],
    error,
    options.verbosity,
  )
}

/** oclif lists missing arguments as a table with a note on flags; one line with the names as the help writes them says it all. */
function missingArguments(message: string, rest: readonly string[]): string | undefined {
  if (!/^Missing \d+ required args?:$/.test(message)) return undefined
  const rows = rest.slice(0, rest.includes('') ? rest.indexOf('') : rest.length)
  return `missing ${rows.map((row) => (row.split(' ', 1)[0] ?? '').toUpperCase()).join(', ')}`
}

function describe(
  code: string,
  exitCode: number,
  message: string,
  hints: readonly string[],
  error: unknown,
  verbosity: number,
): ErrorReport {
  const lines = [`error: ${message}`, ...hints.map((hint) => `  ${hint}`)]
  if (verbosity >= 4) lines.push(...stacks(error))
  const object = error instanceof SrcipError ? error.object : undefined
  return {
    exitCode,
    lines,
    document: {
      apiVersion,
      kind: 'Error',
      code,
      message,
      ...(object === undefined ? {} : {object}),
      hints,
      exitCode,
      changed: false,
      warnings: [],
    },
  }
}

function stacks(error: unknown): string[] {
  const lines: string[] = []
  for (let current = error, depth = 0; current instanceof Error && depth < 8; current = current.cause, depth++) {
    lines.push(...(depth === 0 ? [] : ['caused by:']), ...(current.stack ?? current.message).split('\n'))
  }
  return lines
}

function lowerFirst(text: string): string {
  return /^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text
}
