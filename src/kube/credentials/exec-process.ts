import {spawn} from 'node:child_process'
import {constants} from 'node:fs'
import {access, stat} from 'node:fs/promises'
import {basename, delimiter, isAbsolute, join, sep} from 'node:path'
import {stripVTControlCharacters} from 'node:util'
import type {Clock} from '../clock.ts'
import type {ExecConfig} from '../types.ts'
import {pluginFailure} from './exec-protocol.ts'

/** Long enough for a slow identity provider; a plugin that talks to a person gets the time a person takes. */
const silentLimitMs = 30_000
const interactiveLimitMs = 5 * 60_000

/** A credential is a few kB; certificates with chains some tens. */
const maxOutputBytes = 1024 * 1024

/** What the plugin may talk to. */
export interface PluginTerminal {
  readonly stdinIsTty: boolean
  /** Absent: the plugin writes to our own stderr itself, which is what a prompt needs. */
  readonly writeStderr?: (chunk: Buffer) => void
}

export interface PluginRun {
  readonly exec: ExecConfig
  /** Value of KUBERNETES_EXEC_INFO. */
  readonly info: string
  readonly interactive: boolean
  readonly terminal: PluginTerminal
  readonly env: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly signal: AbortSignal
}

/**
 * Runs a credential plugin once. Its stderr goes to the user as it comes.
 * @returns what it printed on stdout
 * @throws KubeFailure Denied (31) with installHint when it is not there; when it fails, hangs or prints too much
 */
export async function runPlugin(run: PluginRun): Promise<string> {
  const {exec, env, info, interactive, signal} = run
  const program = await locate(run)
  const child = spawn(program, exec.args, {
    env: {...env, ...Object.fromEntries(exec.env.map(({name, value}) => [name, value])), KUBERNETES_EXEC_INFO: info},
    stdio: [interactive ? 'inherit' : 'ignore', 'pipe', run.terminal.writeStderr === undefined ? 'inherit' : 'pipe'],
    windowsHide: true,
  })
  child.stderr?.on('data', (chunk: Buffer) => run.terminal.writeStderr?.(chunk))
  const limitMs = interactive ? interactiveLimitMs : silentLimitMs
  let output = Buffer.alloc(0)
  return await new Promise<string>((resolve, reject) => {
    const finish = (settle: () => void): void => {
      stopTimer()
      signal.removeEventListener('abort', onAbort)
      settle()
    }
    const kill = (why: Error): void => {
      child.kill('SIGKILL')
      // A grandchild may keep the pipe open for ever; nothing more is read from it.
      child.stdout?.destroy()
      child.stderr?.destroy()
      finish(() => reject(why))
    }
    const onAbort = (): void => kill(signal.reason as Error)
    const stopTimer = run.clock.after(limitMs, () =>
      kill(
        pluginFailure(exec, `did not finish within ${limitMs / 1000} s`, ['run it by hand to see what it waits for']),
      ),
    )
    signal.addEventListener('abort', onAbort, {once: true})
    child.stdout?.on('data', (chunk: Buffer) => {
      output = Buffer.concat([output, chunk])
      if (output.length > maxOutputBytes) kill(pluginFailure(exec, 'printed more than a credential'))
    })
    child.once('error', (error: NodeJS.ErrnoException) =>
      finish(() =>
        reject(
          error.code === 'ENOENT'
            ? notFound(exec)
            : pluginFailure(exec, `cannot be started (${error.code ?? error.message})`, [], error),
        ),
      ),
    )
    child.once('close', (code, killedBy) =>
      finish(() => {
        if (code === 0) resolve(output.toString('utf8'))
        else
          reject(
            pluginFailure(
              exec,
              code === null ? `was ended by ${killedBy ?? 'a signal'}` : `failed with exit code ${code}`,
            ),
          )
      }),
    )
    if (signal.aborted) onAbort()
  })
}

/** kubectl looks a bare name up in its own PATH, not in the one the kubeconfig gives to the plugin. */
async function locate({exec, env}: PluginRun): Promise<string> {
  if (isAbsolute(exec.command) || exec.command.includes(sep) || process.platform === 'win32') return exec.command
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    // Go refuses to run programs from the current folder by a bare name.
    if (!isAbsolute(folder)) continue
    const candidate = join(folder, exec.command)
    if (await isProgram(candidate)) return candidate
  }
  throw notFound(exec)
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

function notFound(exec: ExecConfig): Error {
  const hint = exec.installHint === undefined ? undefined : printable(exec.installHint)
  return pluginFailure(exec, 'was not found', [
    ...(hint === undefined ? [] : [hint]),
    `install ${basename(exec.command)}, or choose another user with --user or --context`,
  ])
}

/** The hint comes out of a file that somebody else may have written: no escape sequences on the user's terminal. */
function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- taking control characters out is the point
  return stripVTControlCharacters(text).replaceAll(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g,
    '',
  )
}
