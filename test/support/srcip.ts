import {execFile, type ExecFileOptions} from 'node:child_process'
import {fileURLToPath} from 'node:url'

const entry = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

export interface CommandResult {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs the built plugin as a process of its own, as a script would: no terminal, no colour, a home without a kubeconfig.
 * `input` becomes stdin, which is closed otherwise.
 */
export async function srcip(
  argv: readonly string[],
  options: {input?: string | Uint8Array; env?: Record<string, string>; cwd?: string; timeoutMs?: number} = {},
): Promise<CommandResult> {
  const settings: ExecFileOptions = {
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: '/nonexistent',
      KUBECONFIG: '/nonexistent/config',
      TZ: 'UTC',
      ...options.env,
    },
    maxBuffer: 1 << 28,
    timeout: options.timeoutMs ?? 60_000,
    ...(options.cwd === undefined ? {} : {cwd: options.cwd}),
  }
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [entry, ...argv],
      {...settings, encoding: 'buffer'},
      (error, stdout, stderr) => {
        const code = error === null ? 0 : error.code
        if (typeof code !== 'number') reject(error ?? new Error('no exit code'))
        else resolve({exitCode: code, stdout: stdout.toString(), stderr: stderr.toString()})
      },
    )
    child.stdin?.on('error', () => {})
    child.stdin?.end(options.input ?? '')
  })
}
