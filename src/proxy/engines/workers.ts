import {fork, type ChildProcess} from 'node:child_process'
import type {Clock} from '../clock.ts'
import {sumCounters, type PortCounters, type ProcessUsage} from '../metrics.ts'
import type {ProxyOptions} from '../options.ts'
import type {Route} from '../target/target.ts'
import type {EngineEvents, RelayEngine} from './engine.ts'
import {workerVariable, type FromWorker, type Report, type ToWorker} from './messages.ts'

/** Milliseconds before a worker that ended by itself is started again. */
const restartPause = 500
/** Restarts in a row without a minute of peace between them, after which the whole process should be restarted. */
const mostRestarts = 10
const peace = 60_000
/** Milliseconds that a worker has for a report or for its end. */
const patience = 2000

interface Worker {
  readonly child: ChildProcess
  readonly waiting: Map<number, (report: Report | undefined) => void>
  last: Report | undefined
}

/**
 * Several processes on the same ports, by SO_REUSEPORT: the kernel spreads new connections, nothing passes between the processes but counters. Each is the
 * same program with the same arguments; `workerVariable` in its environment makes it a worker.
 */
export class WorkersEngine implements RelayEngine {
  readonly name = 'node'
  readonly #options: ProxyOptions
  readonly #instance: string
  readonly #clock: Clock
  readonly #events: EngineEvents
  readonly #workers = new Map<number, Worker>()
  /** What workers that have ended had counted. */
  #gone: PortCounters[] = []
  #routes: readonly Route[] = []
  #isEnding = false
  #isAccepting = true
  #restarts = 0
  #lastRestart = 0
  #reports = 0
  #stuck: string | undefined

  constructor(options: ProxyOptions, instance: string, clock: Clock, events: EngineEvents) {
    this.#options = options
    this.#instance = instance
    this.#clock = clock
    this.#events = events
  }

  async start(): Promise<void> {
    await Promise.all(Array.from({length: this.#options.workers}, (_, number) => this.#fork(number)))
  }

  async route(routes: readonly Route[]): Promise<void> {
    this.#routes = routes
    this.#tell({type: 'route', routes})
  }

  async counters(): Promise<readonly PortCounters[]> {
    const reports = await this.#ask()
    const parts = [...this.#gone, ...reports.flatMap(({counters}) => counters)]
    return this.#options.ports.map(({service}) => sumCounters(service, parts))
  }

  async usage(): Promise<readonly ProcessUsage[]> {
    return [...this.#workers.values()].flatMap(({last}) => last?.usage ?? [])
  }

  async stopAccepting(): Promise<void> {
    this.#isAccepting = false
    this.#tell({type: 'stop-accepting'})
  }

  async active(): Promise<number> {
    return (await this.#ask()).reduce((sum, {active}) => sum + active, 0)
  }

  async cut(): Promise<void> {
    this.#isEnding = true
    const children = [...this.#workers.values()].map(({child}) => child)
    const ends = children.map((child) => new Promise<void>((resolve) => child.once('exit', () => resolve())))
    this.#tell({type: 'cut'})
    const kill = setTimeout(() => children.forEach((child) => child.kill('SIGKILL')), patience)
    await Promise.all(ends)
    clearTimeout(kill)
  }

  dead(): string | undefined {
    if (this.#restarts > mostRestarts) return `workers end again and again (${this.#restarts} times)`
    return this.#stuck
  }

  /** Starts one worker; resolves when it listens, rejects when it cannot. */
  #fork(number: number): Promise<void> {
    const [, program = '', ...words] = process.argv
    const child = fork(program, words, {env: {...process.env, [workerVariable]: String(number)}, serialization: 'json'})
    const worker: Worker = {child, waiting: new Map(), last: undefined}
    this.#workers.set(number, worker)
    const perWorker = Math.max(1, Math.floor(this.#options.maxConnections / this.#options.workers))
    send(child, {type: 'start', instance: this.#instance, maxConnections: perWorker})
    return new Promise((resolve, reject) => {
      child.on('message', (message: FromWorker) => {
        if (message.type === 'listening') {
          send(child, {type: 'route', routes: this.#routes})
          resolve()
        } else if (message.type === 'failed') reject(Object.assign(new Error(message.message), {code: message.code}))
        else this.#hear(worker, message)
      })
      child.on('error', reject)
      child.once('exit', (code, signal) => {
        reject(new Error(`worker ${number} ended with ${signal ?? code}`))
        this.#ended(number, worker, signal ?? code)
      })
    })
  }

  #hear(worker: Worker, message: FromWorker): void {
    if (message.type === 'report') {
      worker.last = message.report
      this.#stuck = message.report.dead
      worker.waiting.get(message.id)?.(message.report)
      worker.waiting.delete(message.id)
    } else if (message.type === 'log') this.#events.log(message.kind, message.message)
    else if (message.type === 'loop') this.#events.loopSeen(message.service)
    else this.#events.exhausted()
  }

  #ended(number: number, worker: Worker, how: string | number | null): void {
    for (const answer of worker.waiting.values()) answer(undefined)
    if (this.#workers.get(number) === worker) this.#workers.delete(number)
    const last = worker.last?.counters.map((each) => ({...each, active: 0})) ?? []
    this.#gone = this.#options.ports.map(({service}) => sumCounters(service, [...this.#gone, ...last]))
    if (this.#isEnding || !this.#isAccepting) return
    const now = this.#clock.now()
    this.#restarts = now - this.#lastRestart > peace ? 1 : this.#restarts + 1
    this.#lastRestart = now
    this.#events.log('worker', `worker ${number} ended with ${how}; its connections are lost; it is started again`)
    this.#clock.after(restartPause, () => {
      if (this.#isEnding) return
      this.#fork(number).catch((error: Error) =>
        this.#events.log('worker', `worker ${number} cannot start: ${error.message}`),
      )
    })
  }

  #tell(message: ToWorker): void {
    for (const {child} of this.#workers.values()) send(child, message)
  }

  async #ask(): Promise<readonly Report[]> {
    const id = ++this.#reports
    const asked = [...this.#workers.values()].map(
      (worker) =>
        new Promise<Report | undefined>((resolve) => {
          worker.waiting.set(id, resolve)
          send(worker.child, {type: 'report', id})
          setTimeout(() => {
            worker.waiting.delete(id)
            resolve(worker.last)
          }, patience).unref()
        }),
    )
    return (await Promise.all(asked)).filter((report) => report !== undefined)
  }
}

/** A worker that is just ending has a closed channel; its exit is handled where it is seen. */
function send(child: ChildProcess, message: ToWorker): void {
  if (child.connected) child.send(message, () => {})
}
