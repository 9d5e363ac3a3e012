import {systemClock} from '../clock.ts'
import type {ProxyOptions} from '../options.ts'
import type {FromWorker, ToWorker} from './messages.ts'
import {NodeRelay} from './node.ts'

/**
 * The relaying half of the proxy when there are several processes: does what its messages say until it is told to end or its parent is gone.
 * Signals are the parent's business; a worker that is told to end by one goes on until the parent says so.
 */
export function runWorker(options: ProxyOptions): Promise<void> {
  const tell = (message: FromWorker) => void process.send?.(message)
  let relay: NodeRelay | undefined
  return new Promise((resolve) => {
    const end = () => {
      void relay?.cut()
      process.removeAllListeners('message')
      if (process.connected) process.disconnect()
      resolve()
    }
    process.once('disconnect', end)
    process.on('message', (message: ToWorker) => {
      switch (message.type) {
        case 'start':
          relay = new NodeRelay(
            {options, instance: message.instance, isShared: true, maxConnections: message.maxConnections},
            systemClock,
            {
              log: (kind, text) => tell({type: 'log', kind, message: text}),
              loopSeen: (service) => tell({type: 'loop', service}),
              exhausted: () => tell({type: 'exhausted'}),
            },
          )
          relay.start().then(
            () => tell({type: 'listening'}),
            (error: NodeJS.ErrnoException) => tell({type: 'failed', code: error.code, message: error.message}),
          )
          break
        case 'route':
          void relay?.route(message.routes)
          break
        case 'report':
          void report(relay, message.id).then(tell)
          break
        case 'stop-accepting':
          void relay?.stopAccepting()
          break
        case 'cut':
          end()
      }
    })
  })
}

async function report(relay: NodeRelay | undefined, id: number): Promise<FromWorker> {
  const counters = (await relay?.counters()) ?? []
  const usage = (await relay?.usage()) ?? []
  return {type: 'report', id, report: {counters, usage, active: (await relay?.active()) ?? 0, dead: relay?.dead()}}
}
