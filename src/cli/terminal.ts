import {createInterface} from 'node:readline/promises'
import {SrcipError} from '../model/errors.ts'
import type {ViewOptions} from '../present/view.ts'

export type ColorChoice = 'auto' | 'always' | 'never'

/** The parts of a stream that decide about colour. */
export interface TerminalStream {
  readonly isTTY?: boolean
  readonly columns?: number
}

/** Colour for one stream: the flag wins, then NO_COLOR (non-empty) and TERM=dumb, then whether the stream is a terminal. */
export function usesColor(
  choice: ColorChoice,
  stream: TerminalStream,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  if (choice !== 'auto') return choice === 'always'
  if (environment['NO_COLOR'] || environment['TERM'] === 'dumb') return false
  return stream.isTTY === true
}

/** How a table may look on stdout: nothing is cut or coloured in a pipe. */
export function viewOptions(
  flags: {readonly color: ColorChoice; readonly output?: string; readonly 'no-headers'?: boolean},
  stream: TerminalStream = process.stdout,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ViewOptions {
  return {
    wide: flags.output === 'wide',
    headers: flags['no-headers'] !== true,
    color: usesColor(flags.color, stream, environment),
    columns: stream.isTTY === true ? stream.columns : undefined,
  }
}

/** True where a question can be asked: stdin and stderr are terminals and no CI is around (style.md 2.7). */
export function canAsk(environment: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true && !environment['CI']
}

/**
 * Asks for a yes on stderr. With `--yes` nothing is asked; where no question can be asked this is a usage error (exit 2),
 * since a script must say what it wants. Returns false when the person says no.
 */
export async function confirm(question: string, flags: {readonly yes: boolean}): Promise<boolean> {
  if (flags.yes) return true
  if (!canAsk()) {
    throw new SrcipError('Usage', `cannot ask for confirmation here: ${question}`, {
      hints: ['add --yes to go ahead, or --dry-run=server to look first'],
    })
  }
  const reader = createInterface({input: process.stdin, output: process.stderr})
  try {
    const answer = await reader.question(`${question} [y/N] `)
    return /^y(?:es)?$/i.test(answer.trim())
  } finally {
    reader.close()
  }
}
