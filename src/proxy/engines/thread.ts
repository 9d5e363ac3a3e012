import {parentPort, workerData} from 'node:worker_threads'
import {systemClock} from '../clock.ts'
import type {ProxyOptions} from '../options.ts'
import type {FromThread, ThreadStart, ToThread} from './messages.ts'
import {NodeRelay} from './node.ts'
import {Occupancy} from './occupancy.ts'

/** What this thread was started with, if it is one that relays; undefined in the supervising thread. */
export function threadStart(): ThreadStart | undefined {
  const start = workerData as Partial<ThreadStart> | null
  return typeof start?.srcipProxyThread === 'number' ? (start as ThreadStart) : undefined
}

/** The relaying half of the proxy when there are several threads: does what its messages say until it is told to end. */
export async function runThread(options: ProxyOptions, start: ThreadStart): Promise<void> {
  const port = parentPort
  if (!port) return
  const tell = (message: FromThread) => port.postMessage(message)
  const occupancy = new Occupancy(start.occupancy, start.srcipProxyThread, options.maxConnections)
  const relay = new NodeRelay({options, instance: start.instance, isShared: true, occupancy}, systemClock, {
    log: (kind, text) => tell({type: 'log', kind, message: text}),
    loopSeen: (service) => tell({type: 'loop', service}),
    exhausted: () => tell({type: 'exhausted'}),
  })
  const ended = Promise.withResolvers<void>()
  port.on('message', (message: ToThread) => {
    switch (message.type) {
      case 'route':
        void relay.route(message.routes)
        break
      case 'report':
        void relay.report().then((report) => tell({type: 'report', id: message.id, report}))
        break
      case 'stop-accepting':
        void relay.stopAccepting()
        break
      case 'cut':
        void relay.stopAccepting().then(() => relay.cut())
        ended.resolve()
    }
  })
  try {
    await relay.start()
    tell({type: 'listening'})
    await ended.promise
  } catch (error) {
    const {code, message} = error as NodeJS.ErrnoException
    tell({type: 'failed', code, message})
  }
  port.close()
}
