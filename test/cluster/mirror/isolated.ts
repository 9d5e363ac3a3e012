import {type ChildProcess, spawn} from 'node:child_process'
import {isolation} from './parts.ts'

/** A machine without network, as far as the programs in it can see: loopback alone, and mounts of its own. */
export interface Isolated {
  /** The argument vector that runs a program inside. */
  enter(argv: readonly string[]): string[]
  /** Starts a program inside that goes on. */
  start(argv: readonly string[], env: NodeJS.ProcessEnv): ChildProcess
  readonly holder: ChildProcess
}

export async function isolated(): Promise<Isolated> {
  const holder = spawn('unshare', [...isolation, 'sh', '-c', 'ip link set lo up && echo ready && exec sleep 3600'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise<void>((resolve, reject) => {
    holder.stdout.once('data', () => resolve())
    holder.once('exit', (code) => reject(new Error(`no namespaces: unshare ended with ${code}`)))
  })
  const user = process.getuid?.() === 0 ? [] : ['--user', '--preserve-credentials']
  const enter = (argv: readonly string[]): string[] => [
    'nsenter',
    '--target',
    String(holder.pid),
    ...user,
    '--net',
    '--mount',
    '--',
    ...argv,
  ]
  return {
    holder,
    enter,
    start(argv, env) {
      const [program = '', ...rest] = enter(argv)
      return spawn(program, rest, {env, stdio: ['ignore', 'ignore', 'inherit']})
    },
  }
}
