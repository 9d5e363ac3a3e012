import {Errors, run} from '@oclif/core'
import {reportError} from './cli/report.ts'
import {suggestCommands} from './cli/not-found.ts'
import {printableLines} from './present/table.ts'

export interface MainOptions {
  /** Folder that holds package.json, oclif.manifest.json and dist. */
  readonly root: string
  /** package.json with `oclif.bin` set to how this process was called. */
  readonly pjson: Record<string, unknown>
}

/** Runs one command line and leaves the exit code in process.exitCode. Never throws, never prints to stdout on errors. */
export async function main(argv: string[], options: MainOptions): Promise<void> {
  try {
    await run(argv, options as unknown as Parameters<typeof run>[1])
  } catch (error) {
    const report = reportError(error, {verbosity: 0})
    const lines = error instanceof Errors.CLIError ? suggestCommands(argv, report.lines, options.root) : report.lines
    for (const line of lines) process.stderr.write(`${printableLines(line)}\n`)
    process.exitCode = report.exitCode
  }
}
