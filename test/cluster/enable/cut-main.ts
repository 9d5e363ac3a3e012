/**
 * Stands between a command and the API server, and ends one or the other at the nth write:
 *
 *     node cut-main.ts '{"api": URL, "key": FILE, "cert": FILE, "ca": FILE, "kubeconfig": FILE, "nth": 3, "when": "before"}' COMMAND…
 *
 * `before`: the command is killed with SIGKILL and the write never leaves. `unanswered`: the write is made, the command is killed
 * before it hears of it. `after`: it has the answer, and is killed. `cut-after`: nobody is killed, the API is out of reach from then on.
 * Renewals of a Lease are not counted: they come by the clock. stdout: what the command printed; stderr: the same and, as last
 * line, `cut: {"code": …, "writes": […]}`.
 */
import {spawn} from 'node:child_process'
import {readFileSync, writeFileSync} from 'node:fs'
import {Agent, createServer, request, type RequestOptions} from 'node:https'
import type {AddressInfo} from 'node:net'
import {connect} from 'node:tls'

interface Order {
  readonly api: string
  readonly key: string
  readonly cert: string
  readonly ca: string
  readonly kubeconfig: string
  readonly nth: number
  readonly when: 'before' | 'unanswered' | 'after' | 'cut-after' | 'never'
  /** Only writes whose path ends so are counted. */
  readonly only?: string
}

const order = JSON.parse(process.argv[2] ?? '{}') as Order
const [program = '', ...argv] = process.argv.slice(3)
const api = new URL(order.api)
const ca = readFileSync(order.ca)
const agent = new Agent({keepAlive: true, ca})
const writes: string[] = []
let isCut = false

const server = createServer({key: readFileSync(order.key), cert: readFileSync(order.cert)}, (incoming, outgoing) => {
  if (isCut) return void incoming.socket.destroy()
  const {method = 'GET', url = '/', headers} = incoming
  const counts =
    method !== 'GET' && !/\/leases|reviews/.test(url) && url.split('?')[0]?.endsWith(order.only ?? '') === true
  if (counts) writes.push(`${method} ${url}`)
  const isIt = counts && writes.length === order.nth
  if (isIt && order.when === 'before') {
    kill()
    return
  }
  const options: RequestOptions = {host: api.hostname, port: api.port, path: url, method, headers, agent}
  const onward = request(options, (answer) => {
    if (isIt && order.when === 'unanswered') {
      // the server has answered: the write is made
      answer.resume()
      kill()
      return
    }
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(outgoing)
    if (isIt && order.when === 'after') outgoing.on('finish', () => setTimeout(kill, 5))
    if (isIt && order.when === 'cut-after') {
      outgoing.on('finish', () => {
        isCut = true
        setTimeout(() => server.closeAllConnections(), 5)
      })
    }
  })
  onward.on('error', () => incoming.socket.destroy())
  incoming.pipe(onward)
})

server.on('upgrade', (incoming, socket, head) => {
  if (isCut) return void socket.destroy()
  const onward = connect({host: api.hostname, port: Number(api.port), ca, servername: 'localhost'}, () => {
    const lines = [`${incoming.method} ${incoming.url} HTTP/1.1`]
    for (let index = 0; index < incoming.rawHeaders.length; index += 2)
      lines.push(`${incoming.rawHeaders[index]}: ${incoming.rawHeaders[index + 1]}`)
    onward.write(`${lines.join('\r\n')}\r\n\r\n`)
    onward.write(head)
    onward.pipe(socket).pipe(onward)
  })
  onward.on('error', () => socket.destroy())
  socket.on('error', () => onward.destroy())
  const ends = setInterval(() => {
    if (isCut) socket.destroy()
  }, 20).unref()
  socket.on('close', () => clearInterval(ends))
})

let child: ReturnType<typeof spawn> | undefined

function kill(): void {
  isCut = true
  // with everything that it has started
  if (child?.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
}

server.listen(0, '127.0.0.1', () => {
  const {port} = server.address() as AddressInfo
  const text = readFileSync(order.kubeconfig, 'utf8').replaceAll(order.api, `https://127.0.0.1:${port}`)
  const kubeconfig = `${order.kubeconfig}.cut-${process.pid}`
  writeFileSync(kubeconfig, text, {mode: 0o600})
  child = spawn(program, argv, {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {...process.env, KUBECONFIG: kubeconfig},
  })
  child.on('exit', (code, signal) => {
    process.stderr.write(`\ncut: ${JSON.stringify({code: code ?? signal, writes})}\n`)
    process.exit(0)
  })
})
