import {spawn} from 'node:child_process'
import type {ChildProcess} from 'node:child_process'
import {readFile, readdir} from 'node:fs/promises'
import {existsSync} from 'node:fs'

/** A process of the test bed that the test has started again, on the same arguments. */
export interface Restarted {
  readonly child: ChildProcess
  stop(): void
}

/** Finds a running process by its program's name and one of its arguments. */
export async function findProcess(program: string, argument: string): Promise<{pid: number; argv: string[]}> {
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue
    const argv = (await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '')).split('\0').slice(0, -1)
    const name = argv[0]?.split('/').at(-1) ?? ''
    if (name.startsWith(program) && argv.includes(argument)) return {pid: Number(entry), argv}
  }
  throw new Error(`no ${program} with ${argument} is running`)
}

/** Ends a process as a crash would, and resolves when it is gone. */
export async function kill(pid: number): Promise<void> {
  process.kill(pid, 'SIGKILL')
  for (;;) {
    const state = (await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).split(') ').at(-1)?.[0]
    // A zombie that its parent has not fetched yet holds no port.
    if (state === undefined || state === 'Z' || !existsSync(`/proc/${pid}`)) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Starts the program again; it ends with this process, whatever happens to it. */
export function startAgain(argv: readonly string[]): Restarted {
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...argv], {stdio: 'ignore'})
  return {child, stop: () => void child.kill('SIGKILL')}
}
