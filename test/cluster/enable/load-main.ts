/**
 * Load from one place: fresh connections at a steady pace to each target, no keep-alive, no retry, and streams that were opened before.
 *
 *     node load-main.ts '{"host": "shop.example.org", "address": null, "ports": [80, 443], "perSecond": 50, "streams": 5}'
 *
 * `address`: where the host is; null: what the resolver says, anew for each connection. Prints `ready` once the streams are open; on the end
 * of stdin a line of JSON: how many connections were made, each failure with its time (milliseconds since 1970) and port, and
 * which streams have ended.
 */
import {request as http} from 'node:http'
import {request as https} from 'node:https'

interface Order {
  readonly host: string
  readonly address: string | null
  readonly ports: readonly number[]
  readonly perSecond: number
  readonly streams: number
}

const {host, address, ports, perSecond, streams} = JSON.parse(process.argv[2] ?? '{}') as Order
const failures: {readonly at: number; readonly port: number; readonly reason: string}[] = []
let made = 0
const ended: {readonly at: number; readonly port: number; readonly reason: string}[] = []

function send(port: number, path: string) {
  const options = {
    ...{host: address ?? host, port, path, agent: false, headers: {host, connection: 'close'}},
    ...{servername: host, rejectUnauthorized: false, timeout: 10_000},
  }
  return (port === 443 ? https : http)(options)
}

function ask(port: number): void {
  const at = Date.now()
  made += 1
  let isOver = false
  const fail = (reason: string): void => {
    if (!isOver) failures.push({at, port, reason})
    isOver = true
  }
  const request = send(port, '/')
  request.on('response', (response) => {
    if (response.statusCode !== 200) fail(`HTTP ${response.statusCode}`)
    response.on('error', (error) => fail(error.message))
    response.on('end', () => (isOver = true))
    response.resume()
  })
  request.on('timeout', () => request.destroy(new Error('no answer in 10 s')))
  request.on('error', (error) => fail(error.message))
  request.end()
}

function stream(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = send(port, '/stream')
    request.setTimeout(0)
    request.on('response', (response) => {
      response.once('data', () => resolve())
      response.on('error', (error) => ended.push({at: Date.now(), port, reason: error.message}))
      response.on('end', () => ended.push({at: Date.now(), port, reason: 'end'}))
      response.resume()
    })
    request.on('error', reject)
    request.end()
  })
}

await Promise.all(Array.from({length: streams}, (_, index) => stream(ports[index % ports.length] ?? 80)))
console.log('ready')
const timer = setInterval(() => {
  for (const port of ports) ask(port)
}, 1000 / perSecond)
process.stdin.on('end', () => {
  clearInterval(timer)
  const before = [...ended]
  // what is under way may still fail
  setTimeout(() => {
    console.log(JSON.stringify({made, failures, ended: before}))
    process.exit()
  }, 2000)
})
process.stdin.resume()
