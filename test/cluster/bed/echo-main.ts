/** The bed's backend: says which client address it was told of, and which one it saw itself. */
import {createServer} from 'node:http'

const server = createServer((request, response) => {
  if (request.url === '/stream') {
    // a word a second for as long as the other side stays
    response.setHeader('x-accel-buffering', 'no')
    response.write('here\n')
    const beat = setInterval(() => response.write('still here\n'), 1000)
    response.on('close', () => clearInterval(beat))
    return
  }
  const answer = {
    client: request.headers['x-real-ip'] ?? null,
    peer: request.socket.remoteAddress?.replace(/^::ffff:/, '') ?? null,
    host: request.headers.host ?? null,
    path: request.url ?? '/',
  }
  response.setHeader('content-type', 'application/json')
  response.end(`${JSON.stringify(answer)}\n`)
})
server.listen(Number(process.env['PORT'] ?? 8080), '0.0.0.0', () => console.log('echo is listening'))
process.on('SIGTERM', () => process.exit())
