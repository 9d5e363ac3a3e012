import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {createServer, type Server, type Socket} from 'node:net'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterEach, beforeEach, expect, test} from 'vitest'

const entry = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
let folder: string
let server: Server
const sockets: Socket[] = []

/** An API server that takes connections and never says a word. */
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'srcip-interrupt-'))
  server = createServer((socket) => sockets.push(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const {port} = server.address() as {port: number}
  await writeFile(
    join(folder, 'config'),
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'mute',
      contexts: [{name: 'mute', context: {cluster: 'mute', user: 'nobody'}}],
      clusters: [{name: 'mute', cluster: {server: `http://127.0.0.1:${port}`}}],
      users: [{name: 'nobody', user: {}}],
    }),
  )
})
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  server.close()
  await rm(folder, {recursive: true, force: true})
})

async function waiting(argv: readonly string[], signal?: NodeJS.Signals) {
  const child = spawn(process.execPath, [entry, ...argv, '--kubeconfig', join(folder, 'config')], {
    env: {PATH: process.env['PATH'] ?? '', HOME: folder},
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  if (signal !== undefined) {
    if (sockets.length === 0) await once(server, 'connection')
    child.kill(signal)
  }
  const [code] = (await once(child, 'exit')) as [number]
  return {code, stderr}
}

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)('%s while the API server is mute ends with %d', async (signal, exitCode) => {
  const {code, stderr} = await waiting(['coredns', 'show'], signal)
  expect({code, first: stderr.split('\n')[0]}).toEqual({code: exitCode, first: `error: interrupted by ${signal}`})
})

test('--timeout ends a command with 124', async () => {
  const {code, stderr} = await waiting(['coredns', 'apply', '--yes', '--timeout', '300ms'])
  expect(code).toBe(124)
  expect(stderr).toContain('error: gave up after 300ms (--timeout)')
})

test('--request-timeout ends a request that is not answered, and names the server', async () => {
  const {code, stderr} = await waiting(['coredns', 'show', '--request-timeout', '500ms'])
  expect(code).toBe(124)
  expect(stderr).toMatch(/^error: .*127\.0\.0\.1/)
})

test('SIGTERM while doctor judges thousands of Services ends with 143, not with the verdict', async () => {
  const services = Array.from({length: 4000}, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {name: `s${index}`, namespace: 'default'},
    spec: {type: 'LoadBalancer', selector: {app: `a${index}`}, ports: [{port: 80, protocol: 'TCP'}]},
    status: {loadBalancer: {ingress: [{ip: '203.0.113.1'}]}},
  }))
  const file = join(folder, 'services.json')
  await writeFile(file, JSON.stringify({apiVersion: 'v1', kind: 'List', items: services}))
  // The process signals itself while the text is parsed: the handlers stand by then, and what follows is pure work.
  const preload = `const parse = JSON.parse; JSON.parse = (text, ...rest) => { if (text.length > 500000) process.kill(process.pid, 'SIGTERM'); return parse(text, ...rest) }`
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(preload)}`, entry, 'doctor', '-f', file, '-o', 'json'],
    {env: {PATH: process.env['PATH'] ?? '', HOME: folder}, stdio: 'ignore'},
  )
  expect((await once(child, 'exit'))[0]).toBe(143)
})
