import {execFileSync} from 'node:child_process'
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {mirror, run} from './command.ts'
import {faultProxy} from './fault-proxy.ts'
import {chart, digestAt, gzipLayer, image, missingAt, multiArch, push, referrer, sha256, tarFile} from './images.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

await describeWith('archives', ['registry-3', 'registry-2.8', 'registry-referrers', 'skopeo'], (parts) => {
  const registries = new Registries()
  let source: TestRegistry
  let target: TestRegistry
  let lock: string
  const app = multiArch('archive app', {layerSize: 200_000})
  const base = gzipLayer('shared by two images')
  const tool = image('archive tool', {layerSize: 3_000_000, shared: [base]})
  const pack = chart('demo', '1.2.0', {'Chart.yaml': 'name: demo\nversion: 1.2.0\n', 'values.yaml': 'a: 1\n'})
  const signature = referrer(app, 'application/vnd.dev.sigstore.bundle.v0.3+json', '{"signed":true}')
  const at = (name: string) => join(registries.path, name)

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.startReferrers(parts['registry-referrers']),
      registries.start(parts['registry-3']),
    ])
    await push(source.host, 'acme/app', app, ['1.0'])
    await push(source.host, 'acme/app', signature)
    await push(source.host, 'acme/tool', tool, ['2.0'])
    await push(source.host, 'charts/demo', pack, ['1.2.0'])
    lock = at('lock.yaml')
    const plan = await mirror(
      [
        'plan',
        `${source.host}/acme/app:1.0`,
        `${source.host}/acme/tool:2.0`,
        `oci://${source.host}/charts/demo:1.2.0`,
        '--output-file',
        lock,
      ],
      [source.host],
    )
    expect(plan).toMatchObject({exitCode: 0})
  })
  afterAll(() => registries.stop())

  const exported = (name: string, more: readonly string[] = []) =>
    mirror(['export', at(name), '--plan-file', lock, ...more], [source.host])

  test('a plan is the same twice, and names nothing of a target', async () => {
    const again = await mirror(
      ['plan', `oci://${source.host}/charts/demo:1.2.0`, `${source.host}/acme/tool:2.0`, `${source.host}/acme/app:1.0`],
      [source.host],
    )
    expect(again.stdout).toBe(readFileSync(lock, 'utf8'))
    expect(again.stdout).toContain(signature.digest)
  })

  test('a tar is the same bytes twice, is checked by sha256sum, and is imported whole', async () => {
    for (const name of ['one.tar', 'two.tar']) expect(await exported(name)).toMatchObject({exitCode: 0})
    expect(readFileSync(at('one.tar')).equals(readFileSync(at('two.tar')))).toBe(true)
    expect(execFileSync('sha256sum', ['-c', 'one.tar.sha256'], {cwd: registries.path, encoding: 'utf8'})).toBe(
      'one.tar: OK\n',
    )
    expect(
      execFileSync('tar', ['tf', at('one.tar')], {encoding: 'utf8'})
        .split('\n')
        .slice(0, 3),
    ).toEqual(['oci-layout', 'index.json', 'srcip-mirror.json'])
    const imported = await mirror(['import', at('one.tar'), '--to', `${target.host}/site`], [target.host])
    expect(imported).toMatchObject({exitCode: 0, stdout: expect.stringContaining('copied, not verified')})
    expect(await digestAt(target.host, 'site/acme/app', '1.0')).toBe(app.digest)
    expect(await digestAt(target.host, 'site/charts/demo', '1.2.0')).toBe(pack.digest)
    for (const [name, content] of [
      ['acme/app', app],
      ['acme/app', signature],
      ['acme/tool', tool],
      ['charts/demo', pack],
    ] as const)
      expect(await missingAt(target.host, `site/${name}`, content)).toEqual([])
    const verified = await mirror(
      ['verify', '--plan-file', lock, '--to', `${target.host}/site`, '--deep'],
      [target.host],
    )
    expect(verified).toMatchObject({exitCode: 0, stdout: expect.stringContaining('in the cluster: not checked')})
    const again = await mirror(['import', at('one.tar'), '--to', `${target.host}/site`, '-o', 'json'], [target.host])
    expect(JSON.parse(again.stdout)).toMatchObject({changed: false, summary: {bytesMoved: 0}})
  })

  test('skopeo and tar read it: every digest as it was', async () => {
    await exported('readers.tar')
    const raw = await run('skopeo', [
      'inspect',
      '--raw',
      `oci-archive:${at('readers.tar')}:${source.host}/acme/app:1.0`,
    ])
    expect(sha256(Buffer.from(raw.stdout))).toBe(app.digest)
    const copied = await run('skopeo', [
      '--insecure-policy',
      'copy',
      '--all',
      '--preserve-digests',
      `oci-archive:${at('readers.tar')}:${source.host}/acme/tool:2.0`,
      `dir:${at('skopeo-dir')}`,
    ])
    expect(copied).toMatchObject({code: 0})
    expect(sha256(readFileSync(at('skopeo-dir/manifest.json')))).toBe(tool.digest)
  })

  test('a folder is an OCI layout with a checksum list, and is continued where blobs are there', async () => {
    expect(await exported('layout')).toMatchObject({exitCode: 0})
    expect(execFileSync('sha256sum', ['-c', 'SHA256SUMS'], {cwd: at('layout'), encoding: 'utf8'})).toContain(
      'index.json: OK',
    )
    const layer = tool.blobs.at(-1)?.digest.slice(7) ?? ''
    rmSync(at(`layout/blobs/sha256/${layer}`))
    rmSync(at('layout/index.json'))
    const before = readdirSync(at('layout/blobs/sha256')).length
    expect(await exported('layout', ['--events', `jsonl=${at('events.jsonl')}`])).toMatchObject({exitCode: 0})
    expect(readdirSync(at('layout/blobs/sha256'))).toHaveLength(before + 1)
    const done = readFileSync(at('events.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as {type: string; digest?: string})
      .filter(({type}) => type === 'blob.done')
    expect(done.map(({digest}) => digest)).toEqual([`sha256:${layer}`])
    expect(await mirror(['inspect', at('layout')])).toMatchObject({exitCode: 0})
  })

  test('a cut tar is continued: complete entries are kept, the result is the same bytes', async () => {
    await exported('whole.tar')
    const cut = await faultProxy(source.host)
    writeFileSync(at('lock-cut.yaml'), readFileSync(lock, 'utf8'))
    const size = statSync(at('whole.tar')).size
    writeFileSync(at('cut.tar.part'), readFileSync(at('whole.tar')).subarray(0, Math.floor(size * 0.6)))
    const resumed = await mirror(
      ['export', at('cut.tar'), '--plan-file', at('lock-cut.yaml'), '--source-map', `${source.host}=${cut.host}`],
      [cut.host],
    )
    expect(resumed).toMatchObject({exitCode: 0})
    expect(readFileSync(at('cut.tar')).equals(readFileSync(at('whole.tar')))).toBe(true)
    const fetched = new Set(cut.log.filter((line) => line.includes('/blobs/')))
    const all = new Set(
      [...app.children.flatMap((child) => child.blobs), ...tool.blobs, ...pack.blobs, ...signature.blobs].map(
        ({digest}) => digest,
      ),
    )
    expect(fetched.size).toBeLessThan(all.size)
    await cut.close()
  })

  test('trap 41: a split archive is checked, imported from its first part, and refused with a hole', async () => {
    expect(await exported('split.tar', ['--split', '2M'])).toMatchObject({exitCode: 0})
    const names = readdirSync(registries.path).filter((name) => /^split\.tar\.\d{3}$/.test(name))
    expect(names.length).toBeGreaterThan(2)
    expect(execFileSync('sha256sum', ['-c', 'split.tar.sha256'], {cwd: registries.path, encoding: 'utf8'})).toContain(
      'split.tar.000: OK',
    )
    expect(await mirror(['inspect', at('split.tar')])).toMatchObject({exitCode: 0})
    expect(await mirror(['import', at('split.tar.000'), '--to', `${target.host}/split`], [target.host])).toMatchObject({
      exitCode: 0,
    })
    expect(await digestAt(target.host, 'split/acme/tool', '2.0')).toBe(tool.digest)
    rmSync(at('split.tar.001'))
    expect(await mirror(['inspect', at('split.tar')])).toMatchObject({
      exitCode: 32,
      stderr: expect.stringContaining('split.tar.001 is missing'),
    })
  })

  test('a delta holds what is new, and says what it needs when that is not there', async () => {
    await exported('base.tar')
    const next = image('archive tool next', {shared: tool.blobs.slice(1), layers: 1, layerSize: 50_000})
    await push(source.host, 'acme/tool', next, ['2.1'])
    const delta = await mirror(
      ['export', at('delta.tar'), `${source.host}/acme/tool:2.1`, '--since', at('base.tar'), '-o', 'json'],
      [source.host],
    )
    expect(JSON.parse(delta.stdout)).toMatchObject({exitCode: 0, base: {name: 'base.tar', blobs: 3}})
    expect(statSync(at('delta.tar')).size).toBeLessThan(100_000)
    const alone = await mirror(['import', at('delta.tar'), '--to', `${target.host}/empty`], [target.host])
    expect(alone).toMatchObject({
      exitCode: 32,
      stdout: expect.stringContaining('import base.tar into the same target first'),
    })
    expect(await digestAt(target.host, 'empty/acme/tool', '2.1')).toBeUndefined()
    await mirror(['import', at('base.tar'), '--to', `${target.host}/chain`], [target.host])
    expect(await mirror(['import', at('delta.tar'), '--to', `${target.host}/chain`], [target.host])).toMatchObject({
      exitCode: 0,
    })
    expect(await missingAt(target.host, 'chain/acme/tool', next)).toEqual([])
  })

  test('damage is found: a flipped byte, a truncated archive, a wrong checksum list', async () => {
    await exported('damaged.tar')
    const bytes = readFileSync(at('damaged.tar'))
    const place = bytes.indexOf(tool.blobs.at(-1)?.bytes.subarray(0, 64) ?? Buffer.alloc(0)) + 1000
    bytes[place] = (bytes[place] ?? 0) ^ 1
    writeFileSync(at('damaged.tar'), bytes)
    expect(await mirror(['inspect', at('damaged.tar')])).toMatchObject({
      exitCode: 22,
      stdout: expect.stringContaining(tool.blobs.at(-1)?.digest ?? ''),
    })
    const imported = await mirror(['import', at('damaged.tar'), '--to', `${target.host}/damaged`], [target.host])
    expect(imported.exitCode).toBe(22)
    expect(await digestAt(target.host, 'damaged/acme/tool', '2.0')).toBeUndefined()
    truncateSync(at('damaged.tar'), 700_000)
    expect(await mirror(['import', at('damaged.tar'), '--to', `${target.host}/damaged`], [target.host])).toMatchObject({
      exitCode: 32,
      stderr: expect.stringContaining('truncated'),
    })
  })

  test('a finished archive is never overwritten, and no half one has the name', async () => {
    await exported('kept.tar')
    expect(await exported('kept.tar')).toMatchObject({exitCode: 33, stderr: expect.stringContaining('exists already')})
    const gone = await mirror(
      ['export', at('never.tar'), '--plan-file', lock, '--source-map', `${source.host}=127.0.0.1:1`],
      ['127.0.0.1:1'],
    )
    expect({code: gone.exitCode, there: existsSync(at('never.tar'))}).toEqual({code: 30, there: false})
  })

  test('trap 42: a file that may not grow and a folder that may not be written are named, nothing half has the name', async () => {
    const entry = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))
    const command = `ulimit -f 2000; exec ${process.execPath} ${entry} mirror export ${at('full.tar')} --plan-file ${lock} --plain-http ${source.host}`
    const full = await run('bash', ['-c', command], {HOME: '/nonexistent'})
    expect({code: full.code, there: existsSync(at('full.tar'))}).toEqual({code: 32, there: false})
    expect(full.stderr).toContain('full.tar.part cannot be written: the file may not grow any further')
    expect(await exported('full.tar')).toMatchObject({exitCode: 0})
    expect(await mirror(['inspect', at('full.tar')])).toMatchObject({exitCode: 0})
    expect(await mirror(['export', '/proc/nowhere.tar', '--plan-file', lock], [source.host])).toMatchObject({
      exitCode: 32,
      stderr: expect.stringContaining('/proc/nowhere.tar.part cannot be written'),
    })
  })

  test.each([
    ['a symbolic link', [tarFile('oci-layout', Buffer.from('{}'), {type: '2', link: '/etc/passwd'})]],
    ['a hard link', [tarFile('blobs/sha256/x', Buffer.alloc(0), {type: '1', link: 'oci-layout'})]],
    ['leaves the archive', [tarFile('blobs/../../etc/passwd', Buffer.from('x'))]],
    ['an absolute name', [tarFile('/etc/passwd', Buffer.from('x'))]],
    ['two entries named', [tarFile('index.json', Buffer.from('{}')), tarFile('index.json', Buffer.from('[]'))]],
    ['a device', [tarFile('tty', Buffer.alloc(0), {type: '3'})]],
    ['truncated', [tarFile('oci-layout', Buffer.alloc(512), {size: 1_000_000})]],
  ])('trap 41: a hostile archive is refused: %s', async (reason, entries) => {
    writeFileSync(at('hostile.tar'), Buffer.concat([...entries, Buffer.alloc(1024)]))
    for (const command of [
      ['inspect', at('hostile.tar')],
      ['import', at('hostile.tar'), '--to', `${target.host}/hostile`],
    ]) {
      expect(await mirror(command, command[0] === 'import' ? [target.host] : [])).toMatchObject({
        exitCode: 32,
        stderr: expect.stringContaining(reason),
      })
    }
  })

  test('trap 43: a folder with links is refused', async () => {
    await exported('linked')
    const layer = at(`linked/blobs/sha256/${tool.blobs.at(-1)?.digest.slice(7)}`)
    rmSync(layer)
    symlinkSync('/etc/hostname', layer)
    expect(await mirror(['import', at('linked'), '--to', `${target.host}/linked`], [target.host])).toMatchObject({
      exitCode: 32,
    })
    expect(await digestAt(target.host, 'linked/acme/tool', '2.0')).toBeUndefined()
  })
})
