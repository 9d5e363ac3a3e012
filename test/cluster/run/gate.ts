import {connect, createServer} from 'node:net'
import type {AddressInfo, Socket} from 'node:net'

/** A TCP relay in front of the API server that the test can shut: what a restart, a cut cable or a frozen peer look like. */
export interface Gate {
  readonly port: number
  /** Connections that are open now. */
  readonly open: number
  /** `refuse`: resets all and refuses new ones. `freeze`: passes no byte either way. `pass`: lets everything through. */
  set(mode: 'pass' | 'refuse' | 'freeze'): void
  /** Resets every connection once. */
  cut(): void
  close(): Promise<void>
}

export async function startGate(target: number): Promise<Gate> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let mode: 'pass' | 'refuse' | 'freeze' = 'pass'
  const server = createServer((client) => {
    if (mode === 'refuse') return void client.resetAndDestroy()
    const upstream = connect(target, '127.0.0.1')
    const pair = [client, upstream] as const
    pairs.add(pair)
    const end = (): void => {
      pairs.delete(pair)
      client.destroy()
      upstream.destroy()
    }
    client.on('data', (chunk) => void (mode === 'freeze' || upstream.write(chunk)))
    upstream.on('data', (chunk) => void (mode === 'freeze' || client.write(chunk)))
    for (const socket of pair) socket.on('error', end).on('close', end)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const [client, upstream] of pairs) {
      client.resetAndDestroy()
      upstream.destroy()
    }
  }
  return {
    port: (server.address() as AddressInfo).port,
    get open() {
      return pairs.size
    },
    set: (next) => {
      mode = next
      if (next === 'refuse') cut()
    },
    cut,
    close: async () => {
      cut()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
