import {existsSync, readFileSync, renameSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {killInside, type Actor} from './actor.ts'
import type {ApiClient} from './api-client.ts'
import {NODE_ADDRESS, type Inside} from './namespaces.ts'
import type {Service} from './objects.ts'
import {until} from './running-bed.ts'
import {workLoop, type Store} from './store.ts'
import {logPipe} from './log-pipe.ts'

/** Whether and how the balancer puts a PROXY protocol header in front of each connection. */
export type SendProxy = 'off' | 'v1' | 'v2'

/** The outer balancer: HAProxy on an address outside the cluster, in front of the node ports. */
export type Balancer = {
  actor: Actor
  address: string
  /** Switches the header for one port of every Service, or for all ports. */
  setSendProxy(value: SendProxy, port?: number): Promise<void>
  /** File with HAProxy's own log. */
  log: string
}

type Settings = {
  api: ApiClient
  actor: Actor
  haproxy: string
  services: Store<Service>
  sendProxy: SendProxy
  /** How long connections of before a reload may go on, as HAProxy writes times. */
  hardStop: string
  log: (line: string) => void
  end: AbortSignal
}

/** Starts the balancer and gives each Service of type LoadBalancer its address. */
export async function startBalancer(settings: Settings): Promise<Balancer> {
  const {api, actor, services, log, end} = settings
  const {address} = actor
  const perPort = new Map<number, SendProxy>()
  let everywhere = settings.sendProxy
  let current = ''
  let process: Inside | undefined
  const config = join(actor.folder, 'haproxy.cfg')
  const logFile = join(actor.folder, 'haproxy.log')

  /** How often haproxy has said that its configuration is in force. */
  const loads = () => (existsSync(logFile) ? readFileSync(logFile, 'utf8').split('Loading success').length : 0)

  async function reconfigureNow(): Promise<void> {
    const ports = [...services.items.values()].filter(isBalanced).flatMap(({spec}) => spec.ports ?? [])
    const text = configuration({address, hardStop: settings.hardStop}, ports, (port) => perPort.get(port) ?? everywhere)
    if (text === current && process !== undefined) return
    writeFileSync(`${config}.new`, text)
    renameSync(`${config}.new`, config)
    current = text
    const before = loads()
    if (process !== undefined) {
      const running = process
      // A signal that comes while the master is busy with another one can get lost: sent until it shows.
      await until('haproxy has loaded its configuration anew', 10, async () => {
        killInside(running, 'SIGUSR2')
        await until('haproxy reloads', 1, () => loads() > before).catch(() => {})
        return loads() > before
      })
      return
    }
    const started = await actor.start([settings.haproxy, '-W', '-f', config], {output: logPipe(logFile)})
    void started.exited.then((code) => {
      log(`balancer: haproxy ended with ${code}`)
      process = undefined
      kick()
    })
    await until('haproxy has loaded its configuration', 5, () => loads() > before)
    process = started
  }
  let last = Promise.resolve()
  const reconfigure = (): Promise<void> => (last = last.catch(() => {}).then(reconfigureNow))
  const kick = workLoop(
    'balancer',
    async () => {
      await reconfigure()
      for (const service of services.items.values()) {
        if (!isBalanced(service) || service.status?.loadBalancer?.ingress?.some(({ip}) => ip === address)) continue
        await api.patch(service, {status: {loadBalancer: {ingress: [{ip: address, ipMode: 'VIP'}]}}}, 'status')
      }
    },
    log,
    end,
  )
  services.onChange(kick)
  kick()
  return {
    actor,
    address,
    log: logFile,
    async setSendProxy(value, port) {
      if (port !== undefined) perPort.set(port, value)
      else {
        perPort.clear()
        everywhere = value
      }
      await reconfigure()
    },
  }
}

function isBalanced({spec, metadata}: Service): boolean {
  return spec.type === 'LoadBalancer' && metadata.deletionTimestamp === undefined
}

function configuration(
  {address, hardStop}: {address: string; hardStop: string},
  ports: {port: number; nodePort?: number}[],
  sendProxy: (port: number) => SendProxy,
): string {
  const words: Record<SendProxy, string> = {off: '', v1: ' send-proxy', v2: ' send-proxy-v2'}
  const listeners = ports.flatMap(({port, nodePort}) => {
    if (nodePort === undefined) return []
    return [
      `listen port${port}`,
      `  bind ${address}:${port}`,
      `  server node ${NODE_ADDRESS}:${nodePort}${words[sendProxy(port)]}`,
    ]
  })
  return [
    'global',
    '  log stdout format raw daemon',
    // A reload must not leave old processes behind for the length of a test.
    `  hard-stop-after ${hardStop}`,
    'defaults',
    '  mode tcp',
    '  log global',
    '  timeout connect 5s',
    '  timeout client 10m',
    '  timeout server 10m',
    ...(listeners.length === 0 ? ['listen nothing', `  bind ${address}:1`, '  server node 127.0.0.1:1'] : listeners),
    '',
  ].join('\n')
}
