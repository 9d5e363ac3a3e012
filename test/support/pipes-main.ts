/**
 * A container for port-forward and log tests. Port 7000 echoes; 7001 sends 32 MiB that can be told apart by place and
 * ends; 7002 takes bytes slowly and answers their number once it has as many as the first line says. Logs a line every 100 ms.
 */
import {createServer} from 'node:net'

const size = 32 * 1024 * 1024

createServer((socket) => {
  socket.on('error', () => undefined)
  socket.pipe(socket)
}).listen(7000, '0.0.0.0')

createServer((socket) => {
  socket.on('error', () => undefined)
  const block = Buffer.alloc(1024 * 1024)
  let sent = 0
  const send = (): void => {
    while (sent < size) {
      block.writeUInt32BE(sent / block.length, 0)
      sent += block.length
      if (!socket.write(Buffer.from(block))) {
        socket.once('drain', send)
        return
      }
    }
    socket.end()
  }
  send()
}).listen(7001, '0.0.0.0')

createServer((socket) => {
  socket.on('error', () => undefined)
  let wanted: number | undefined
  let got = 0
  socket.on('data', (chunk: Buffer) => {
    let payload = chunk
    if (wanted === undefined) {
      const end = chunk.indexOf(10)
      wanted = Number(chunk.subarray(0, end).toString())
      payload = chunk.subarray(end + 1)
    }
    got += payload.length
    if (got >= wanted) socket.write(`${got}\n`)
    socket.pause()
    setTimeout(() => socket.resume(), 2)
  })
}).listen(7002, '0.0.0.0', () => console.log('pipes are open'))

let count = 0
setInterval(() => console.log(`line ${(count += 1)}`), 100)
process.on('SIGTERM', () => process.exit())
