import {spawn} from 'node:child_process'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {mirror} from './command.ts'
import {digestAt, image, missingAt, multiArch, push, type Document} from './images.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

const entry = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))

await describeWith('killed and run again', ['registry-2.8', 'registry-3'], (parts) => {
  const registries = new Registries()
  let source: TestRegistry
  let target: TestRegistry
  const images: [string, Document][] = [
    ['acme/many', image('kill many', {layers: 25, layerSize: 40_000})],
    ['acme/arch', multiArch('kill arch', {layerSize: 300_000})],
    ['acme/big', image('kill big', {layers: 2, layerSize: 15_000_000})],
  ]
  const references = () => images.map(([name]) => `${source.host}/${name}:1.0`)

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.start(parts['registry-2.8']),
      registries.start(parts['registry-3']),
    ])
    for (const [name, content] of images) await push(source.host, name, content, ['1.0'])
  })
  afterAll(() => registries.stop())

  /** Runs a copy and kills it after some milliseconds; tells whether it was killed before its end. */
  function killedAfter(
    milliseconds: number,
    to: string,
    signal: NodeJS.Signals,
  ): Promise<{readonly code: number | null; readonly stderr: string}> {
    const hosts = ['--plain-http', source.host, '--plain-http', target.host]
    const child = spawn(process.execPath, [entry, 'mirror', 'copy', ...references(), '--to', to, ...hosts], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {PATH: process.env['PATH'] ?? '', HOME: '/nonexistent'},
    })
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    const timer = setTimeout(() => child.kill(signal), milliseconds)
    return new Promise((resolve) =>
      child.once('exit', (code) => {
        clearTimeout(timer)
        resolve({code, stderr})
      }),
    )
  }

  test('kill -9 at many moments: no tag on something incomplete, and the rest is all that the next run moves', async () => {
    // Moments spread over the whole run, from before the first request to about its end.
    let interrupted = 0
    for (let at = 0; at < 8; at++) {
      const to = `${target.host}/kill${at}`
      const {code} = await killedAfter(250 + at * 130, to, 'SIGKILL')
      if (code === null) interrupted++
      for (const [name, content] of images) {
        if ((await digestAt(target.host, `kill${at}/${name}`, '1.0')) !== undefined)
          expect(await missingAt(target.host, `kill${at}/${name}`, content)).toEqual([])
      }
      const again = await mirror(['copy', ...references(), '--to', to, '-o', 'json'], [source.host, target.host])
      expect(again).toMatchObject({exitCode: 0})
      for (const [name, content] of images) {
        expect(await digestAt(target.host, `kill${at}/${name}`, '1.0')).toBe(content.digest)
        expect(await missingAt(target.host, `kill${at}/${name}`, content)).toEqual([])
      }
      const last = await mirror(['copy', ...references(), '--to', to, '-o', 'json'], [source.host, target.host])
      expect(JSON.parse(last.stdout)).toMatchObject({changed: false, summary: {bytesMoved: 0}})
    }
    expect(interrupted).toBeGreaterThan(0)
  })

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends with %i at once, and a rerun goes on', async (signal, exitCode) => {
    const to = `${target.host}/signal${exitCode}`
    const slow = await import('./fault-proxy.ts').then(({faultProxy}) =>
      faultProxy(source.host, [
        {
          when: ({method, path}) => method === 'GET' && path.includes('/blobs/'),
          answer: {status: 503, headers: {'retry-after': '30'}},
        },
      ]),
    )
    const child = spawn(
      process.execPath,
      [
        entry,
        'mirror',
        'copy',
        `${slow.host}/acme/many:1.0`,
        '--to',
        to,
        '--plain-http',
        slow.host,
        '--plain-http',
        target.host,
      ],
      {stdio: ['ignore', 'ignore', 'pipe'], env: {PATH: process.env['PATH'] ?? '', HOME: '/nonexistent'}},
    )
    const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
    await new Promise<void>((resolve) =>
      child.stderr.on('data', (chunk: Buffer) => chunk.toString().includes('asks for a pause') && resolve()),
    )
    const started = performance.now()
    child.kill(signal)
    expect(await ended).toBe(exitCode)
    expect(performance.now() - started).toBeLessThan(5000)
    await slow.close()
    expect(
      await mirror(['copy', `${source.host}/acme/many:1.0`, '--to', to], [source.host, target.host]),
    ).toMatchObject({exitCode: 0})
  })
})
