import {execFile} from 'node:child_process'
import {srcip, type CommandResult} from '../../support/srcip.ts'

/** Runs `mirror …` as a user does, with these registries in plain http. */
export function mirror(
  argv: readonly string[],
  hosts: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<CommandResult> {
  return srcip(['mirror', ...argv, ...hosts.flatMap((host) => ['--plain-http', host])], {env, timeoutMs: 120_000})
}

/** Runs a program of somebody else to its end. */
export function run(
  program: string,
  argv: readonly string[],
  env: Record<string, string> = {},
): Promise<{readonly code: number; readonly stdout: string; readonly stderr: string}> {
  return new Promise((resolve) => {
    execFile(
      program,
      [...argv],
      {env: {PATH: process.env['PATH'] ?? '', ...env}, maxBuffer: 1 << 26, timeout: 60_000},
      (error, stdout, stderr) => resolve({code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr}),
    )
  })
}
