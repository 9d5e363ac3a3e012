import {execFile, spawn, type ChildProcess} from 'node:child_process'
import {mkdtemp, rename, rm, writeFile} from 'node:fs/promises'
import {connect} from 'node:net'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {promisify} from 'node:util'
import {SrcipError} from '../../model/errors.ts'
import type {Clock} from '../clock.ts'
import {sumCounters, type PortCounters, type ProcessUsage} from '../metrics.ts'
import type {ProxyOptions} from '../options.ts'
import type {Route} from '../target/target.ts'
import type {EngineEvents, RelayEngine} from './engine.ts'
import {renderHaproxyConfig} from './haproxy-config.ts'
import {usageOf, usageOfProcess} from './usage.ts'
import {readProcesses, readStatistics} from './haproxy-stats.ts'

/** Milliseconds that HAProxy has to start, to reload and to answer. */
const patience = 5000
/** Milliseconds between two looks while waiting. */
const step = 20

const execute = promisify(execFile)

/**
 * The real HAProxy in master-worker mode. A change of the target writes the configuration anew, has it checked by `haproxy -c`, and reloads: the new worker
 * takes the listening sockets over, the old one keeps its connections until they end.
 */
export class HaproxyEngine implements RelayEngine {
  readonly name = 'haproxy'
  readonly #options: ProxyOptions
  readonly #events: EngineEvents
  readonly #clock: Clock
  readonly #headerPorts: ReadonlySet<number>
  #folder = ''
  #master: ChildProcess | undefined
  #config = ''
  /** Last counters of every worker that ever answered, by process id. */
  readonly #seen = new Map<number, readonly PortCounters[]>()
  #living: readonly number[] = []
  #work: Promise<void> = Promise.resolve()
  #isEnding = false
  #died: string | undefined

  constructor(options: ProxyOptions, clock: Clock, events: EngineEvents) {
    this.#options = options
    this.#clock = clock
    this.#events = events
    this.#headerPorts = new Set(options.ports.filter(({sendsHeader}) => sendsHeader).map(({service}) => service))
  }

  async start(): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), 'srcip-haproxy-'))
    await this.#write([])
    const master = spawn(
      this.#options.haproxy,
      ['-W', '-S', this.#path('master.sock'), '-f', this.#path('haproxy.cfg')],
      {stdio: ['ignore', 'ignore', 'pipe']},
    )
    this.#master = master
    // A second signal ends this process at once; nobody else would end HAProxy then.
    const endWithUs = () => void master.kill('SIGTERM')
    process.once('exit', endWithUs)
    master.once('exit', () => process.off('exit', endWithUs))
    let words = ''
    master.stderr.on('data', (chunk: Buffer) => {
      words = (words + chunk.toString()).slice(-4096)
      for (const line of chunk.toString().split('\n')) if (line.startsWith('[ALERT]')) this.#events.log('haproxy', line)
    })
    const ended = new Promise<never>((_, reject) => {
      master.once('error', (error) => reject(missing(this.#options.haproxy, error)))
      master.once('exit', (code, signal) => {
        if (!this.#isEnding) this.#died = `haproxy ended with ${signal ?? code}`
        reject(failedToStart(words))
      })
    })
    await Promise.race([this.#until(async () => (await this.#processes()).current.length > 0), ended])
    ended.catch(() => {})
  }

  /** One change at a time; while one is under way only the newest of those that come meanwhile counts. */
  async route(routes: readonly Route[]): Promise<void> {
    this.#next = routes
    this.#work = this.#work.then(async () => {
      const newest = this.#next
      this.#next = undefined
      if (newest && !this.#isEnding && (await this.#write(newest))) await this.#reload()
    })
    return this.#work
  }

  #next: readonly Route[] | undefined

  async counters(): Promise<readonly PortCounters[]> {
    await this.#refresh()
    const all = [...this.#seen].flatMap(([pid, counters]) =>
      this.#living.includes(pid) ? counters : counters.map((each) => ({...each, active: 0})),
    )
    return this.#options.ports.map(({service}) => sumCounters(service, all))
  }

  async usage(): Promise<readonly ProcessUsage[]> {
    const pids = [this.#master?.pid, ...this.#living].filter((pid) => pid !== undefined)
    const usages = await Promise.all(pids.map(usageOf))
    return [usageOfProcess(0), ...usages.filter((usage) => usage !== undefined)]
  }

  async stopAccepting(): Promise<void> {
    await this.#refresh()
    this.#isEnding = true
    this.#master?.kill('SIGUSR1')
  }

  async active(): Promise<number> {
    await this.#refresh()
    return [...this.#seen]
      .filter(([pid]) => this.#living.includes(pid))
      .reduce((sum, [, counters]) => sum + counters.reduce((total, each) => total + each.active, 0), 0)
  }

  async cut(): Promise<void> {
    this.#isEnding = true
    await this.#work.catch(() => {})
    const master = this.#master
    if (master && master.exitCode === null && master.signalCode === null) {
      const ended = new Promise((resolve) => master.once('exit', resolve))
      master.kill('SIGTERM')
      const kill = setTimeout(() => master.kill('SIGKILL'), patience)
      await ended
      clearTimeout(kill)
    }
    if (this.#folder) await rm(this.#folder, {recursive: true, force: true})
  }

  dead(): string | undefined {
    return this.#died
  }

  #path(name: string): string {
    return join(this.#folder, name)
  }

  /** Writes the configuration and has it checked. False when it is what HAProxy already runs with; rejects when HAProxy refuses it. */
  async #write(routes: readonly Route[]): Promise<boolean> {
    const text = renderHaproxyConfig({options: this.#options, routes, statsSocket: this.#path('stats.sock')})
    if (text === this.#config) return false
    await writeFile(this.#path('haproxy.new.cfg'), text, {mode: 0o600})
    try {
      await execute(this.#options.haproxy, ['-c', '-f', this.#path('haproxy.new.cfg')], {timeout: patience})
    } catch (error) {
      const {code, stderr} = error as NodeJS.ErrnoException & {stderr?: string}
      throw code === 'ENOENT' ? missing(this.#options.haproxy, error as Error) : failedToStart(stderr ?? String(error))
    }
    await rename(this.#path('haproxy.new.cfg'), this.#path('haproxy.cfg'))
    this.#config = text
    return true
  }

  async #reload(): Promise<void> {
    await this.#refresh()
    const [before] = (await this.#processes()).current
    this.#master?.kill('SIGUSR2')
    await this.#until(async () => {
      const {current} = await this.#processes()
      return current.length > 0 && current[0] !== before
    })
    this.#events.log('reloaded', 'HAProxy reloaded; open connections stay with the old worker')
  }

  async #processes(): Promise<{current: number[]; old: number[]}> {
    return readProcesses(await this.#tell('show proc'))
  }

  async #refresh(): Promise<void> {
    const {current, old} = await this.#processes()
    this.#living = [...current, ...old]
    await Promise.all(
      this.#living.map(async (pid) => {
        const answer = await this.#tell(`@!${pid} show stat`)
        if (answer.startsWith('# pxname')) this.#seen.set(pid, readStatistics(answer, this.#headerPorts))
      }),
    )
  }

  /** One command to the master's socket; empty when it does not answer, as it cannot in the moment of a reload. */
  #tell(command: string): Promise<string> {
    return new Promise((resolve) => {
      let answer = ''
      const socket = connect(this.#path('master.sock'))
      socket.setTimeout(patience, () => socket.destroy())
      socket.on('data', (chunk: Buffer) => (answer += chunk.toString()))
      socket.on('error', () => {})
      socket.on('close', () => resolve(answer))
      socket.end(`${command}\n`)
    })
  }

  async #until(holds: () => Promise<boolean>): Promise<void> {
    const end = this.#clock.now() + patience
    while (!(await holds())) {
      if (this.#clock.now() > end)
        throw new SrcipError('Timeout', `haproxy did not do what it was told within ${patience / 1000}s`)
      await new Promise((resolve) => setTimeout(resolve, step))
    }
  }
}

function missing(program: string, cause: Error): SrcipError {
  return new SrcipError(
    'Precondition',
    `cannot run ${program}: ${(cause as NodeJS.ErrnoException).code ?? cause.message}`,
    {
      hints: ['--haproxy PATH names the program', '--engine node needs none'],
      cause,
    },
  )
}

function failedToStart(words: string): SrcipError {
  const alerts = words.split('\n').filter((line) => line.startsWith('[ALERT]'))
  return new SrcipError('Precondition', `haproxy refuses to run: ${(alerts[0] ?? words.trim()) || 'it says nothing'}`)
}
