import net from 'node:net'

/** What happens to the bytes of one connection. All of it may be changed while the relay runs. */
export interface RelayFaults {
  /** Bytes a second towards the client; as fast as it goes without. */
  rate?: number | undefined
  /** Is this request, not the first of its connection, met by a closed connection? */
  closed?: (request: string, count: number) => boolean
  /** Answers of more than this many bytes stop there, the connection stays open; as often as `silences` says. */
  silentAfter?: number
  silences?: number
  /** The first request of more than this many bytes is not read any further. */
  deafAfter?: number | undefined
}

/** A relay in front of a real registry that counts connections and makes them bad in ways that HTTP does not show. */
export interface TcpRelay {
  readonly host: string
  readonly connections: number
  faults: RelayFaults
  close(): Promise<void>
}

export async function tcpRelay(registry: string, faults: RelayFaults = {}): Promise<TcpRelay> {
  const [host = '', port = ''] = registry.split(':')
  const open = new Set<net.Socket>()
  const state = {connections: 0, kept: 0, faults}
  const server = net.createServer((client) => {
    state.connections++
    let requests = 0
    let answered = 0
    let silent = false
    let taken = 0
    const upstream = net.connect(Number(port), host)
    for (const socket of [client, upstream]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        // A silent answer does not end, whatever the registry does.
        if (socket === upstream && silent) return
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk) => {
      const start = chunk.toString('latin1', 0, 300).split('\r\n')[0] ?? ''
      if (/^(?:GET|HEAD|POST|PUT|PATCH) \S+ HTTP/.test(start)) {
        answered = 0
        if (++requests > 1 && state.faults.closed?.(start, ++state.kept) === true) {
          client.resetAndDestroy()
          return
        }
      }
      upstream.write(chunk)
      taken += chunk.length
      const {deafAfter} = state.faults
      if (deafAfter === undefined || taken < deafAfter) return
      state.faults.deafAfter = undefined
      client.pause()
    })
    upstream.on('data', (chunk) => {
      const {rate, silentAfter, silences = 1} = state.faults
      if (silent) return
      answered += chunk.length
      if (silentAfter !== undefined && answered > silentAfter && silences > 0) {
        silent = true
        state.faults.silences = silences - 1
        return
      }
      client.write(chunk)
      if (rate === undefined) return
      upstream.pause()
      setTimeout(() => upstream.resume(), (chunk.length / rate) * 1000)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    get connections() {
      return state.connections
    },
    get faults() {
      return state.faults
    },
    set faults(next: RelayFaults) {
      state.faults = next
      state.kept = 0
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
