import {readFileSync} from 'node:fs'
import {readControllerFlags} from '../../controller/ouroboros/flags.ts'
import {runAsOuroboros} from '../../controller/ouroboros/run.ts'

/** Whether a call of `run` is one in the words of ouroboros. */
export function asksForOuroboros(argv: readonly string[]): boolean {
  return argv.some((word) => /^--?compat(?:=|$)/.test(word))
}

/** Runs the controller that a call in the words of `ouroboros controller` means, until the signal aborts. Resolves with the exit code. */
export async function runOuroborosController(
  argv: readonly string[],
  version: string,
  signal: AbortSignal,
): Promise<number> {
  const options = readControllerFlags(argv, process.env, resolvConf)
  return await runAsOuroboros(options, {
    env: process.env,
    version,
    signal,
    writeLog: (line) => process.stderr.write(line),
  })
}

/** Unread, it tells nothing: the cluster domain is then the usual one, as with ouroboros. */
function resolvConf(): string {
  try {
    return readFileSync('/etc/resolv.conf', 'utf8')
  } catch {
    return ''
  }
}
