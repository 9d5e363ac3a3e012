import {afterEach, beforeEach, expect} from 'vitest'
import {createReflector, resources} from '../../src/kube/index.ts'
import type {Log, Reflector, ReflectorOptions} from '../../src/kube/index.ts'
import {ScriptedClient} from './scripted-client.ts'
import type {object} from './scripted-client.ts'
import {VirtualClock} from './virtual-clock.ts'

/** A reflector on a virtual clock with the test in the role of the API server, fresh for each test of the file that calls this. */
export class ReflectorStage {
  clock = new VirtualClock()
  server = new ScriptedClient(() => this.clock.now())
  reflector!: Reflector<string>
  /** `add edge/a`, `delete edge/b tombstone`. */
  changes: string[] = []
  states: string[] = []
  /** Log lines. */
  lines: string[] = []
  listReasons: string[] = []
  drift: string[] = []

  constructor() {
    beforeEach(() => {
      this.clock = new VirtualClock()
      this.server = new ScriptedClient(() => this.clock.now())
      this.changes = []
      this.states = []
      this.lines = []
      this.listReasons = []
      this.drift = []
    })
    afterEach(async () => {
      await this.reflector.stop()
      expect(this.clock.pending).toBe(0)
    })
  }

  start(options: Partial<ReflectorOptions<string>> = {}): void {
    const note = (message: string): void => void this.lines.push(message)
    const log: Log = {debug: () => undefined, info: note, warn: note, error: note}
    this.reflector = createReflector<string>({
      client: this.server.client,
      resource: resources.ingresses,
      project: (item) => String((item['spec'] as {host: string}).host),
      clock: this.clock,
      random: () => 0.5,
      onChange: ({type, key, tombstone}) => void this.changes.push(`${type} ${key}${tombstone ? ' tombstone' : ''}`),
      onState: ({state}) => void this.states.push(state),
      observer: {
        onList: (reason) => void this.listReasons.push(reason),
        onDrift: (keys) => void this.drift.push(...keys),
      },
      log,
      ...options,
    })
    this.reflector.start()
  }

  /** A server that does WatchList: every new watch is answered with these objects. */
  serveInitial(version: string, ...items: ReturnType<typeof object>[]): void {
    this.server.onWatch = (watch) => {
      watch.headers()
      if (watch.options.sendInitialEvents !== true) return
      for (const item of items) watch.send('ADDED', item)
      watch.endMark(version)
    }
  }
}
