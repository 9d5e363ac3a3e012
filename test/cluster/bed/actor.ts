import {copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import type {Inside, InsideOptions, Namespaces} from './namespaces.ts'
import {insideEnvironment, NODE_ADDRESS} from './namespaces.ts'

/** Someone with an address of their own: a pod, the client outside, the balancer, the laptop. */
export type Actor = {
  name: string
  address: string
  /** Folder with the actor's files. */
  folder: string
  /** Process that holds the actor's namespaces, as this machine and as the bed's processes see it. */
  pid: number
  innerPid: number
  start(argv: string[], options?: InsideOptions): Promise<Inside>
  /** Runs a program to its end, whatever it ends with. */
  exec(argv: string[], options?: ExecOptions): Promise<ExecResult>
  /** Ends everything that runs on this address. */
  stop(): Promise<void>
}

export type ExecOptions = InsideOptions & {input?: string; timeout?: number}

/** `seconds` is the time that the program took. */
export type ExecResult = {code: number; stdout: string; stderr: string; seconds: number}

/**
 * The mounts of an actor: /etc is a folder of its own whose entries lead to the machine's, so that the actor has its
 * own resolv.conf and mount points can be made there; /run is empty but for what the actor gets.
 */
const holderScript = `
set -e
mount -t tmpfs tmpfs /run
mkdir /run/machine-etc
mount --bind /etc /run/machine-etc
mount --bind "$1" /etc
exec sleep infinity
`

let links = 0

/** Makes an actor: its own network with one address, routed by the node, and its own mounts. */
export async function startActor(
  namespaces: Namespaces,
  settings: {name: string; address: string; resolvConf: string; folder?: string},
): Promise<Actor> {
  const {name, address, resolvConf} = settings
  const folder = settings.folder ?? join(namespaces.folder, 'actors', name)
  const etc = ownEtc(folder, name, address, resolvConf)
  const holder = await namespaces.start([
    ...['unshare', '--net', '--mount', '--propagation', 'private', '--'],
    ...['sh', '-c', holderScript, 'sh', etc],
  ])
  let complaint = ''
  holder.child.stderr?.on('data', (data) => (complaint += String(data)))
  await waitForHolder(namespaces, holder, () => complaint)
  links += 1
  const link = `veth${links}`
  const outer = [
    `link add ${link} type veth peer name eth0 netns ${holder.innerPid}`,
    `link set ${link} up`,
    `route add ${address}/32 dev ${link} src ${NODE_ADDRESS}`,
  ]
  const inner = [
    'link set lo up',
    'link set eth0 up',
    `addr add ${address}/32 dev eth0`,
    'route add 169.254.1.1 dev eth0',
    'route add default via 169.254.1.1',
  ]
  await namespaces.run(['ip', '-batch', '-'], {input: outer.map((line) => `${line}\n`).join('')})
  await namespaces.run(['ip', '-batch', '-'], {input: inner.map((line) => `${line}\n`).join(''), target: holder.pid})
  const started = new Set<Inside>()
  const start: Actor['start'] = async (argv, options = {}) => {
    const inside = await namespaces.start(argv, {...options, target: holder.pid})
    started.add(inside)
    void inside.exited.then(() => started.delete(inside))
    return inside
  }
  return {
    name,
    address,
    folder,
    pid: holder.pid,
    innerPid: holder.innerPid,
    start,
    exec: async (argv, options = {}) => {
      const inside = await start(argv, options)
      return collect(inside, options)
    },
    async stop() {
      for (const inside of started) killInside(inside, 'SIGKILL')
      killInside(holder, 'SIGKILL')
      await holder.exited
    },
  }
}

/** Sends a signal to a program inside; one that ended is no error. */
export function killInside(inside: {pid: number}, signal: NodeJS.Signals): void {
  if (inside.pid === 0) return
  try {
    process.kill(inside.pid, signal)
  } catch {}
}

/** Waits for a program inside and keeps what it prints; after `timeout` milliseconds it is killed (code 124). */
export async function collect(inside: Inside, options: ExecOptions = {}): Promise<ExecResult> {
  const started = performance.now()
  let stdout = ''
  let stderr = ''
  let late = false
  inside.child.stdout?.on('data', (data) => (stdout += String(data)))
  inside.child.stderr?.on('data', (data) => (stderr += String(data)))
  inside.child.stdin?.on('error', () => {})
  inside.child.stdin?.end(options.input ?? '')
  const timer = setTimeout(() => {
    late = true
    killInside(inside, 'SIGKILL')
  }, options.timeout ?? 120_000)
  const code = await inside.exited
  clearTimeout(timer)
  return {code: late ? 124 : code, stdout, stderr, seconds: (performance.now() - started) / 1000}
}

function ownEtc(folder: string, name: string, address: string, resolvConf: string): string {
  const etc = join(folder, 'etc')
  mkdirSync(etc, {recursive: true})
  const own = new Set(['resolv.conf', 'hosts', 'hostname', 'passwd', 'group', 'coredns', 'nsswitch.conf', 'mtab'])
  for (const entry of readdirSync('/etc'))
    if (!own.has(entry)) symlinkSync(`/run/machine-etc/${entry}`, join(etc, entry))
  for (const file of ['passwd', 'group']) copyFileSync(`/etc/${file}`, join(etc, file))
  writeFileSync(join(etc, 'nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files dns\n')
  writeFileSync(join(etc, 'resolv.conf'), resolvConf)
  writeFileSync(join(etc, 'hostname'), `${name}\n`)
  writeFileSync(join(etc, 'hosts'), `127.0.0.1 localhost\n${address} ${name}\n`)
  return etc
}

/** The holder has done its mounts once it has become `sleep`. */
async function waitForHolder(namespaces: Namespaces, holder: Inside, complaint: () => string): Promise<void> {
  const script = 'until [ "$(cat /proc/$1/comm 2>/dev/null)" = sleep ]; do [ -d /proc/$1 ] || exit 1; sleep 0.005; done'
  try {
    await namespaces.run(['sh', '-c', script, 'sh', String(holder.innerPid)], {env: insideEnvironment()})
  } catch {
    throw new Error(`an actor of the bed could not make its mounts: ${complaint().trim()}`)
  }
}
