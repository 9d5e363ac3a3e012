import {connect, createServer, type Socket} from 'node:net'

/** Bytes held back at most for one connection, so that a large upload does not pile up here. */
const mostHeld = 8 * 1024 * 1024

/** A TCP proxy that lets everything a client sends wait: one delay is one round trip more for every request. */
export async function delayProxy(
  target: string,
  milliseconds: number,
): Promise<{readonly host: string; close(): void}> {
  const [host = '', port = ''] = target.split(':')
  const sockets = new Set<Socket>()
  const server = createServer({noDelay: true}, (client) => {
    const upstream = connect({host, port: Number(port), noDelay: true})
    sockets.add(client).add(upstream)
    let held = 0
    client.on('data', (chunk: Buffer) => {
      held += chunk.length
      if (held > mostHeld) client.pause()
      setTimeout(() => {
        held -= chunk.length
        if (held <= mostHeld) client.resume()
        if (!upstream.destroyed) upstream.write(chunk)
      }, milliseconds)
    })
    upstream.pipe(client)
    const end = (): void => {
      setTimeout(() => upstream.destroy(), milliseconds)
      client.destroy()
      sockets.delete(client)
      sockets.delete(upstream)
    }
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as {port: number}).port}`,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
