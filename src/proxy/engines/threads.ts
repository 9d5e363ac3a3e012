import {Worker} from 'node:worker_threads'
import type {Clock} from '../clock.ts'
import {sumCounters, type PortCounters, type ProcessUsage} from '../metrics.ts'
import type {ProxyOptions} from '../options.ts'
import type {Route} from '../target/target.ts'
import type {EngineEvents, RelayEngine} from './engine.ts'
import type {FromThread, Report, ThreadStart, ToThread} from './messages.ts'
import {Occupancy, occupancyBytes} from './occupancy.ts'
import {usageOfProcess} from './usage.ts'

/** Milliseconds before a thread that ended by itself is started again. */
const restartPause = 500
/** Restarts with less than a minute of peace between them, after which the whole process should be restarted. */
const mostRestarts = 10
const peace = 60_000
/** Milliseconds that a thread has for a report or for its end. */
const patience = 2000
/** Reports missed in a row after which a thread counts as stuck. */
const mostMissed = 5

interface Thread {
  readonly worker: Worker
  readonly waiting: Map<number, (report: Report | undefined) => void>
  last: Report | undefined
  missed: number
}

/**
 * Several threads with an event loop each that listen on the same ports by SO_REUSEPORT: the kernel spreads new connections, and nothing passes between the
 * threads but counters. Each runs the same program with the same arguments; its `workerData` makes it one that relays.
 */
export class ThreadsEngine implements RelayEngine {
  readonly name = 'node'
  readonly #options: ProxyOptions
  readonly #instance: string
  readonly #clock: Clock
  readonly #events: EngineEvents
  readonly #threads = new Map<number, Thread>()
  readonly #occupancy: SharedArrayBuffer
  /** What threads that have ended had counted. */
  #gone: readonly PortCounters[] = []
  #routes: readonly Route[] = []
  #isEnding = false
  #isAccepting = true
  #restarts = 0
  #lastRestart = 0
  #reports = 0

  constructor(options: ProxyOptions, instance: string, clock: Clock, events: EngineEvents) {
    this.#options = options
    this.#instance = instance
    this.#clock = clock
    this.#events = events
    this.#occupancy = new SharedArrayBuffer(occupancyBytes(options.workers))
  }

  async start(): Promise<void> {
    await Promise.all(Array.from({length: this.#options.workers}, (_, number) => this.#begin(number)))
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
    const lags = [...this.#threads.values()].map(({last}) => last?.lag ?? 0)
    return [usageOfProcess(Math.max(0, ...lags))]
  }

  async stopAccepting(): Promise<void> {
    this.#isAccepting = false
    this.#tell({type: 'stop-accepting'})
  }

  async active(): Promise<number> {
    return new Occupancy(this.#occupancy, 0, 0).total
  }

  async cut(): Promise<void> {
    this.#isEnding = true
    const workers = [...this.#threads.values()].map(({worker}) => worker)
    const ends = workers.map((worker) => new Promise<void>((resolve) => worker.once('exit', () => resolve())))
    this.#tell({type: 'cut'})
    const force = setTimeout(() => workers.forEach((worker) => void worker.terminate()), patience)
    await Promise.all(ends)
    clearTimeout(force)
  }

  dead(): string | undefined {
    void this.#ask()
    if (this.#restarts > mostRestarts) return `threads end again and again (${this.#restarts} times)`
    const stuck = [...this.#threads].find(([, {missed}]) => missed > mostMissed)
    return stuck && `thread ${stuck[0]} does not answer`
  }

  /** Starts one thread; resolves when it listens, rejects when it cannot. */
  #begin(number: number): Promise<void> {
    const start: ThreadStart = {srcipProxyThread: number, instance: this.#instance, occupancy: this.#occupancy}
    const worker = new Worker(process.argv[1] ?? '', {argv: process.argv.slice(2), workerData: start})
    const thread: Thread = {worker, waiting: new Map(), last: undefined, missed: 0}
    this.#threads.set(number, thread)
    return new Promise((resolve, reject) => {
      worker.on('message', (message: FromThread) => {
        if (message.type === 'listening') {
          tell(worker, {type: 'route', routes: this.#routes})
          resolve()
        } else if (message.type === 'failed') reject(Object.assign(new Error(message.message), {code: message.code}))
        else this.#hear(thread, message)
      })
      worker.on('error', (error) => {
        this.#events.log('thread', `thread ${number} failed: ${error.message}`)
        reject(error)
      })
      worker.once('exit', (code) => {
        reject(new Error(`thread ${number} ended with ${code}`))
        this.#ended(number, thread)
      })
    })
  }

  #hear(thread: Thread, message: Exclude<FromThread, {type: 'listening' | 'failed'}>): void {
    if (message.type === 'report') {
      thread.last = message.report
      thread.missed = 0
      thread.waiting.get(message.id)?.(message.report)
      thread.waiting.delete(message.id)
    } else if (message.type === 'log') this.#events.log(message.kind, message.message)
    else if (message.type === 'loop') this.#events.loopSeen(message.service)
    else this.#events.exhausted()
  }

  #ended(number: number, thread: Thread): void {
    for (const answer of thread.waiting.values()) answer(undefined)
    if (this.#threads.get(number) === thread) this.#threads.delete(number)
    new Occupancy(this.#occupancy, number, 0).clear()
    const last = thread.last?.counters.map((each) => ({...each, active: 0})) ?? []
    this.#gone = this.#options.ports.map(({service}) => sumCounters(service, [...this.#gone, ...last]))
    if (this.#isEnding || !this.#isAccepting) return
    const now = this.#clock.now()
    this.#restarts = now - this.#lastRestart > peace ? 1 : this.#restarts + 1
    this.#lastRestart = now
    this.#events.log('thread', `thread ${number} ended; its connections are lost; it is started again`)
    this.#clock.after(restartPause, () => {
      if (this.#isEnding) return
      this.#begin(number).catch((error: Error) =>
        this.#events.log('thread', `thread ${number} cannot start: ${error.message}`),
      )
    })
  }

  #tell(message: ToThread): void {
    for (const {worker} of this.#threads.values()) tell(worker, message)
  }

  async #ask(): Promise<readonly Report[]> {
    const id = ++this.#reports
    const asked = [...this.#threads.values()].map(
      (thread) =>
        new Promise<Report | undefined>((resolve) => {
          thread.waiting.set(id, resolve)
          tell(thread.worker, {type: 'report', id})
          this.#clock.after(patience, () => {
            if (thread.waiting.delete(id)) thread.missed++
            resolve(thread.last)
          })
        }),
    )
    return (await Promise.all(asked)).filter((report) => report !== undefined)
  }
}

function tell(worker: Worker, message: ToThread): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin, that is for windows
  worker.postMessage(message)
}
