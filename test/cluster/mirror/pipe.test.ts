import {spawn} from 'node:child_process'
import {readFileSync, truncateSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {mirror} from './command.ts'
import {digestAt, image, missingAt, multiArch, push, referrer, sha256, tarFile} from './images.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

const entry = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))

await describeWith('archives through a pipe', ['registry-3', 'registry-referrers'], (parts) => {
  const registries = new Registries()
  const app = multiArch('piped app', {layerSize: 200_000})
  const tool = image('piped tool', {layers: 2, layerSize: 3_000_000})
  const twin = image('piped twin', {layers: 1, layerSize: 1000, shared: tool.blobs.slice(1)})
  const signature = referrer(app, 'application/vnd.dev.sigstore.bundle.v0.3+json', '{"piped":true}')
  const at = (name: string) => join(registries.path, name)
  let source: TestRegistry
  let target: TestRegistry
  const references = () => ['app:1.0', 'tool:2.0', 'twin:3.0'].map((name) => `${source.host}/acme/${name}`)

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.startReferrers(parts['registry-referrers']),
      registries.start(parts['registry-3']),
    ])
    await push(source.host, 'acme/app', app, ['1.0'])
    await push(source.host, 'acme/app', signature)
    await push(source.host, 'acme/tool', tool, ['2.0'])
    await push(source.host, 'acme/twin', twin, ['3.0'])
    expect(await mirror(['plan', ...references(), '--output-file', at('lock.yaml')], [source.host])).toMatchObject({
      exitCode: 0,
    })
  })
  afterAll(() => registries.stop())

  interface Ended {
    readonly code: number
    readonly stderr: string
    readonly stdout: string
  }
  /** Runs a shell line in which `$SRCIP` is the command. */
  function shell(line: string): Promise<Ended> {
    const child = spawn('bash', ['-o', 'pipefail', '-c', line], {
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: '/nonexistent',
        SRCIP: `${process.execPath} ${entry}`,
        SOURCE: source.host,
        TARGET: target.host,
        LOCK: at('lock.yaml'),
        TMPDIR: registries.path,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    return new Promise((resolve) => child.once('close', (code) => resolve({code: code ?? 1, stdout, stderr})))
  }
  const exporting = '$SRCIP mirror export - --plan-file $LOCK --plain-http $SOURCE'
  const importing = (prefix: string, more = '') =>
    `$SRCIP mirror import - --to $TARGET/${prefix} --plain-http $TARGET ${more}`

  test('export and import joined by a pipe: every digest, blob and signature arrives, nothing lies in between', async () => {
    const joined = await shell(`${exporting} | ${importing('joined')}`)
    expect(joined).toMatchObject({code: 0})
    for (const [name, content, tag] of [
      ['app', app, '1.0'],
      ['tool', tool, '2.0'],
      ['twin', twin, '3.0'],
    ] as const) {
      expect(await digestAt(target.host, `joined/acme/${name}`, tag)).toBe(content.digest)
      expect(await missingAt(target.host, `joined/acme/${name}`, content)).toEqual([])
    }
    expect(await missingAt(target.host, 'joined/acme/app', signature)).toEqual([])
    const again = await shell(`${exporting} | ${importing('joined')}`)
    expect(again).toMatchObject({code: 0, stdout: expect.stringContaining('0 B moved')})
  })

  test('the bytes are those of a file, their SHA-256 is said, and a file can be piped in', async () => {
    expect(await mirror(['export', at('file.tar'), '--plan-file', at('lock.yaml')], [source.host])).toMatchObject({
      exitCode: 0,
    })
    const piped = await shell(`${exporting} > ${at('piped.tar')}`)
    expect(piped.code).toBe(0)
    const bytes = readFileSync(at('piped.tar'))
    expect(bytes.equals(readFileSync(at('file.tar')))).toBe(true)
    expect(piped.stderr).toContain(sha256(bytes).slice(7))
    expect(await shell(`${importing('file')} < ${at('file.tar')}`)).toMatchObject({code: 0})
    expect(await missingAt(target.host, 'file/acme/tool', tool)).toEqual([])
  })

  test('a pipe that ends early is found out and nothing is tagged', async () => {
    writeFileSync(at('cut.tar'), readFileSync(at('file.tar')))
    truncateSync(at('cut.tar'), readFileSync(at('file.tar')).length - 2_000_000)
    const cut = await shell(`cat ${at('cut.tar')} | ${importing('cut')}`)
    expect(cut).toMatchObject({code: 32, stderr: expect.stringContaining('truncated')})
    for (const name of ['app', 'tool', 'twin'])
      for (const tag of ['1.0', '2.0', '3.0'])
        expect(await digestAt(target.host, `cut/acme/${name}`, tag)).toBeUndefined()
  })

  test('a byte changed on the way is refused by its digest', async () => {
    const bytes = readFileSync(at('file.tar'))
    bytes[bytes.length - 5000] = (bytes[bytes.length - 5000] ?? 0) ^ 1
    writeFileSync(at('flipped.tar'), bytes)
    expect(await shell(`${importing('flipped')} < ${at('flipped.tar')}`)).toMatchObject({
      code: 22,
      stderr: expect.stringContaining('hashes to'),
    })
  })

  test('a reader that goes away is no success', async () => {
    const gone = await shell(`${exporting} | head -c 1000 > /dev/null; exit \${PIPESTATUS[0]}`)
    expect(gone).toMatchObject({code: 32, stderr: expect.stringContaining('the reader of the archive ended')})
  })

  test('a tag that is taken is refused, and nothing is written for that image', async () => {
    const other = image('somebody else')
    await push(target.host, 'taken/acme/tool', other, ['2.0'])
    const refused = await shell(`${exporting} | ${importing('taken')}`)
    expect(refused.code).toBe(33)
    expect(await digestAt(target.host, 'taken/acme/tool', '2.0')).toBe(other.digest)
    const written = await missingAt(target.host, 'taken/acme/tool', tool)
    expect(written).toHaveLength(tool.blobs.length + 1)
    expect(await missingAt(target.host, 'taken/acme/app', app)).toEqual([])
  })

  test.each([
    ['a compressed archive', Buffer.from([0x1f, 0x8b, 8, 0]), 'compressed'],
    [
      'an archive whose plan comes late',
      Buffer.concat([
        tarFile('oci-layout', Buffer.from('{}')),
        tarFile(`blobs/sha256/${'a'.repeat(64)}`, Buffer.from('x')),
      ]),
      'does not come before the blobs',
    ],
    ['an archive that leaves its folder', tarFile('../evil', Buffer.from('x')), 'leaves the archive'],
    ['nothing at all', Buffer.alloc(0), 'ends early'],
  ])('%s is refused', async (name, bytes, text) => {
    const path = at(`${name.replaceAll(' ', '-')}.tar`)
    writeFileSync(path, bytes)
    const refused = await shell(`${importing('bad')} < ${path}`)
    expect(refused).toMatchObject({code: 32, stderr: expect.stringContaining(text)})
  })

  test('stdin cannot hold a password as well, and a pipe is one piece', async () => {
    expect(await shell(`${importing('x', '--username $TARGET=me')} < /dev/null`)).toMatchObject({code: 2})
    expect(await shell(`${exporting} --split 1M > /dev/null`)).toMatchObject({code: 2})
  })
})
