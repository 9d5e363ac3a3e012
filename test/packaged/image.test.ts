import {spawn, type ChildProcess} from 'node:child_process'
import {existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs'
import {createServer, connect, type AddressInfo, type Server} from 'node:net'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest'
import {assembleRootfs, type Rootfs} from '../../scripts/image/rootfs.ts'
import {describeWithParts} from '../cluster/bed/index.ts'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const isRoot = process.getuid?.() === 0

/** The folder as a container runtime shows it: read-only, with /proc, /dev/null and an empty /tmp, as the image's user. */
const container = `
set -e
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount --rbind /proc "$1/proc"
mount --rbind /dev "$1/dev"
mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
folder=$1; shift
exec chroot ${isRoot ? '--userspec=65532:65532 ' : ''}"$folder" "$@"
`

await describeWithParts('the image', ['haproxy', 'unshare'], () => {
  let work: string
  let rootfs: string
  let made: Rootfs
  const running = new Set<ChildProcess>()

  beforeAll(() => {
    work = mkdtempSync(join(tmpdir(), 'srcip-image-'))
    rootfs = join(work, 'rootfs')
    made = assembleRootfs(root, rootfs)
  })
  afterEach(() => {
    for (const child of running) child.kill('SIGKILL')
    running.clear()
  })
  afterAll(() => rmSync(work, {recursive: true, force: true}))

  function start(argv: readonly string[]): ChildProcess {
    const unshare = [
      ...(isRoot ? [] : ['-r']),
      '--mount',
      '--propagation',
      'private',
      'sh',
      '-c',
      container,
      'sh',
      rootfs,
    ]
    const child = spawn('unshare', [...unshare, ...argv], {
      // what the Containerfile sets, and mount and chroot of this machine
      env: {PATH: '/usr/bin:/usr/sbin:/bin:/sbin', HOME: '/home/srcip', NODE_ENV: 'production'},
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    running.add(child)
    return child
  }

  async function ran(argv: readonly string[]): Promise<{code: number | null; stdout: string; stderr: string}> {
    const child = start(argv)
    let [stdout, stderr] = ['', '']
    child.stdout?.on('data', (data) => (stdout += String(data)))
    child.stderr?.on('data', (data) => (stderr += String(data)))
    return await new Promise((resolve) => child.on('close', (code) => resolve({code, stdout, stderr})))
  }

  const entry = /^ENTRYPOINT (\[.*\])$/m.exec(readFileSync(join(root, 'Containerfile'), 'utf8'))?.[1]
  const srcip = JSON.parse(entry ?? '[]') as string[]

  test.each(['run', 'proxy', 'cleanup'])('%s --help', async (command) => {
    const {code, stdout, stderr} = await ran([...srcip, command, '--help'])
    expect(code, stderr).toBe(0)
    expect(stdout).toContain(`kubectl srcip ${command}`)
  })

  test('runs as the image’s user, and cannot write beside /tmp', async () => {
    const script = `
      const fs = require('node:fs'), os = require('node:os')
      let written = 'yes'
      try { fs.writeFileSync('/app/x', '') } catch (error) { written = error.code }
      fs.writeFileSync('/tmp/x', '')
      process.stdout.write(JSON.stringify({uid: process.getuid(), user: os.userInfo().username, written}))`
    const {stdout, stderr} = await ran(['/usr/bin/node', '-e', script])
    const expected = isRoot ? {uid: 65532, user: 'srcip'} : {uid: 0, user: 'root'}
    expect(stdout, stderr).toBe(JSON.stringify({...expected, written: 'EROFS'}))
  })

  test('the Containerfile and the chart name the same user', () => {
    const user = /^USER (\d+):(\d+)$/m.exec(readFileSync(join(root, 'Containerfile'), 'utf8'))?.slice(1)
    const chart = readFileSync(join(root, 'charts/srcip/templates/_helpers.tpl'), 'utf8')
    expect([...chart.matchAll(/^runAs(?:User|Group): (\d+)$/gm)].map((match) => match[1])).toEqual(user)
    expect(readFileSync(join(rootfs, 'etc/passwd'), 'utf8')).toContain(`srcip:x:${user?.join(':')}:`)
  })

  test('haproxy -v, with the libraries that are inside', async () => {
    const {code, stdout, stderr} = await ran(['/usr/sbin/haproxy', '-v'])
    expect(code, stderr).toBe(0)
    expect(stdout).toContain('HAProxy version')
  })

  test('holds what runs: no shell, no npm, no sources, no maps', () => {
    for (const path of ['bin/sh', 'usr/bin/npm', 'app/src', 'app/test', 'app/dist/main.js.map'])
      expect(existsSync(join(rootfs, path)), path).toBe(false)
    expect(existsSync(join(rootfs, 'app/dist/main.js'))).toBe(true)
  })

  test('the same inputs give the same bytes', () => {
    expect(assembleRootfs(root, join(work, 'again'))).toEqual(made)
  })

  test.each(['node', 'haproxy'])('the proxy gets ready and relays with the engine %s', async (engine) => {
    const target = await startTarget()
    const [listen, health] = [await freePort(), await freePort()]
    const child = start([
      ...srcip,
      ...['proxy', '--to=127.0.0.1', `--port=80=${listen},to=${target.port},probe=http`, '--listen=127.0.0.1'],
      ...[`--health-address=127.0.0.1:${health}`, `--engine=${engine}`, '--workers=1', '--drain-delay=0'],
    ])
    let log = ''
    child.stderr?.on('data', (data) => (log += String(data)))
    try {
      await expect
        .poll(
          () =>
            fetch(`http://127.0.0.1:${health}/readyz`).then(
              ({status}) => status,
              () => 0,
            ),
          {timeout: 20_000},
        )
        .toBe(200)
      expect(await ask(listen)).toMatch(/PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ \d+/)
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${log}`, {cause: error})
    } finally {
      child.kill('SIGTERM')
      target.server.close()
    }
  })
})

/** Answers each request with the first line that it got, as an ingress that reads the PROXY header would see it. */
async function startTarget(): Promise<{server: Server; port: number}> {
  const server = createServer((socket) => {
    let seen = ''
    socket.on('error', () => {})
    socket.on('data', (data) => {
      seen += data.toString('latin1')
      if (!seen.includes('\r\n\r\n')) return
      const body = seen.split('\r\n')[0] ?? ''
      socket.end(`HTTP/1.1 ${body.startsWith('PROXY ') ? 200 : 400} x\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {server, port: (server.address() as AddressInfo).port}
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const {port} = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function ask(port: number): Promise<string> {
  return await new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: shop.example.org\r\n\r\n'))
    let answer = ''
    socket.on('data', (data) => (answer += String(data)))
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}
