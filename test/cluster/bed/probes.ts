import {get} from 'node:http'
import {get as getSecure} from 'node:https'
import type {Socket} from 'node:net'
import {connect as connectTls} from 'node:tls'
import type {Actor} from './actor.ts'
import type {Namespaces} from './namespaces.ts'
import type {Container, Probe} from './objects.ts'

/** Runs a probe once, from the node, as kubelet does; true when it succeeded. */
export async function probe(
  namespaces: Namespaces,
  actor: Actor,
  container: Container,
  check: Probe,
): Promise<boolean> {
  const limit = (check.timeoutSeconds ?? 1) * 1000
  if (check.exec !== undefined) return (await actor.exec(check.exec.command, {timeout: limit})).code === 0
  const port = portNumber(container, check.httpGet?.port ?? check.tcpSocket?.port ?? 0)
  let socket: Socket
  try {
    socket = await namespaces.connect(actor.address, port)
  } catch {
    return false
  }
  if (check.httpGet === undefined) {
    socket.destroy()
    return true
  }
  const secure = check.httpGet.scheme === 'HTTPS'
  const stream = secure ? connectTls({socket, rejectUnauthorized: false}) : socket
  const path = check.httpGet.path ?? '/'
  return new Promise((resolve) => {
    const options = {host: actor.address, port, path, timeout: limit, createConnection: () => stream}
    const request = (secure ? getSecure : get)(options, (response) => {
      response.resume()
      const status = response.statusCode ?? 0
      resolve(status >= 200 && status < 400)
    })
    // The relay hands its sockets over paused.
    request.on('socket', () => stream.resume())
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(false))
    request.on('close', () => stream.destroy())
  })
}

function portNumber(container: Container, port: number | string): number {
  if (typeof port === 'number') return port
  const found = container.ports?.find(({name}) => name === port)
  if (found === undefined) throw new Error(`container ${container.name} has no port named ${port}`)
  return found.containerPort
}
