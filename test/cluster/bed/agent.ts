/**
 * First process of the bed's namespaces. It readies the node's network, relays streams that come in over a unix socket
 * (which works across network namespaces), and ends, and with it every process of the bed, when its owner is gone.
 *
 *     node agent.ts FOLDER NODE_ADDRESS
 *
 * On stdout: `ready`. On stdin: `keep` leaves the folder in place at the end.
 */
import {execFileSync} from 'node:child_process'
import {rmSync, writeFileSync} from 'node:fs'
import {connect, createServer} from 'node:net'
import {join} from 'node:path'

const [folder = '', nodeAddress = ''] = process.argv.slice(2)

/** Address that every pod and actor has as its gateway; the node answers for it on each link. */
const gateway = '169.254.1.1'

function readyNetwork(): void {
  const batch = ['link set lo up', `addr add ${nodeAddress}/32 dev lo`, `addr add ${gateway}/32 dev lo`]
  // The node needs some route to Services before the packet rules change the destination.
  batch.push(`route add 10.96.0.0/16 dev lo src ${nodeAddress}`)
  execFileSync('ip', ['-batch', '-'], {input: batch.map((line) => `${line}\n`).join('')})
  writeFileSync('/proc/sys/net/ipv4/ip_forward', '1')
  for (const scope of ['all', 'default']) writeFileSync(`/proc/sys/net/ipv4/conf/${scope}/rp_filter`, '0')
}

/** One line of JSON, `{host, port}`, then `ok` or `error CODE`, then bytes both ways. */
function serveRelay(): void {
  const server = createServer({allowHalfOpen: true}, (client) => {
    let head = Buffer.alloc(0)
    client.on('error', () => client.destroy())
    client.on('data', function take(chunk: Buffer) {
      head = Buffer.concat([head, chunk])
      const end = head.indexOf(10)
      if (end < 0) return
      client.off('data', take)
      client.pause()
      const {host, port} = JSON.parse(head.subarray(0, end).toString()) as {host: string; port: number}
      const target = connect({host, port, allowHalfOpen: true})
      target.once('connect', () => {
        client.write('ok\n')
        if (end + 1 < head.length) target.write(head.subarray(end + 1))
        client.pipe(target).pipe(client)
      })
      target.on('error', (error: NodeJS.ErrnoException) => {
        if (target.connecting || target.pending) client.end(`error ${error.code}\n`)
        else client.destroy()
      })
      client.on('close', () => target.destroy())
    })
  })
  server.listen(join(folder, 'relay'), () => process.stdout.write('ready\n'))
}

function endWithOwner(): void {
  let keep = false
  process.stdin.on('data', (data) => (keep ||= data.toString().includes('keep')))
  process.stdin.on('end', () => {
    if (!keep) rmSync(folder, {recursive: true, force: true, maxRetries: 3})
    process.exit()
  })
  process.stdout.on('error', () => {})
}

readyNetwork()
endWithOwner()
serveRelay()
