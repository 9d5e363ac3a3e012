import {mkdirSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterAll, afterEach, beforeAll, expect, test, vi} from 'vitest'
import {isNotFound} from '../../../src/registry/errors.ts'
import {openRegistryClient} from '../../../src/registry/open.ts'
import {Repository} from '../../../src/registry/repository.ts'
import {testAuthority} from '../../support/certificates.ts'
import {mirror, run} from './command.ts'
import {copyReferences} from './copying.ts'
import {faultProxy} from './fault-proxy.ts'
import {chart, digestAt, image, missingAt, multiArch, push, sha256, type Document} from './images.ts'
import {tokenServer} from './logins.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'
import {tcpRelay} from './tcp-relay.ts'

await describeWith('traps with real registries', ['registry-3', 'registry-2.8', 'openssl'], (parts) => {
  const registries = new Registries()
  const closing: (() => Promise<void> | void)[] = []
  const app = multiArch('traps', {layerSize: 20_000})
  const at = (name: string) => join(registries.path, name)
  let source: TestRegistry
  let target: TestRegistry

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.start(parts['registry-2.8']),
      registries.start(parts['registry-3']),
    ])
    await push(source.host, 'acme/app', app, ['1.0'])
  })
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
  })
  afterAll(() => registries.stop())
  const app10 = () => `${source.host}/acme/app:1.0`

  test('trap 7: attestations look like a platform unknown/unknown: they travel, are listed as no platform, and none is missed', async () => {
    const lock = at('attested.lock.yaml')
    expect(await mirror(['plan', app10(), '--output-file', lock], [source.host])).toMatchObject({exitCode: 0})
    const plan = await mirror(['plan', app10(), '-o', 'json'], [source.host])
    const [item] = (JSON.parse(plan.stdout) as {items: {platforms: {platform: string}[]}[]}).items
    expect(item?.platforms.map(({platform}) => platform)).toEqual(['linux/amd64', 'linux/arm64'])
    expect(
      await mirror(['copy', '--plan-file', lock, '--to', `${target.host}/seven`], [source.host, target.host]),
    ).toMatchObject({exitCode: 0})
    expect(await missingAt(target.host, 'seven/acme/app', app)).toEqual([])
    for (const more of [[], ['--platform', 'linux/arm64']]) {
      const verified = await mirror(
        ['verify', '--plan-file', lock, '--to', `${target.host}/seven`, '-o', 'json', ...more],
        [target.host],
      )
      expect(JSON.parse(verified.stdout)).toMatchObject({
        exitCode: 0,
        items: [{status: 'ok', problems: [], manifests: more.length === 0 ? 5 : 2}],
      })
    }
  })

  test('trap 20: a token that dies during a layer’s transfer does not end it: only its start is checked', async () => {
    const tokens = await tokenServer('test-registry', {anonymousPull: false})
    closing.push(() => tokens.close())
    tokens.users.set('pusher', 'secret')
    const bundle = at('tokens.pem')
    writeFileSync(bundle, tokens.certificate)
    const registry = await registries.start(parts['registry-3'], {
      extra: `auth: {token: {realm: "${tokens.realm}", service: test-registry, issuer: issuer, rootcertbundle: "${bundle}"}}`,
    })
    // The registry forgives a minute, so a token that ended 57 s ago lives for three seconds more; the layer takes five.
    tokens.life = -57
    const slow = image('slow', {layers: 1, layerSize: 2_500_000})
    await push(source.host, 'acme/slow', slow, ['1.0'])
    const relay = await tcpRelay(source.host, {rate: 500_000})
    closing.push(() => relay.close())
    const started = Date.now()
    const copied = await copyReferences([`${relay.host}/acme/slow:1.0`], registry.host, {
      open: {credentials: [{candidates: async () => [{username: 'pusher', password: 'secret', from: 'test'}]}]},
      extras: 'none',
      spool: 'never',
    })
    expect(copied.exitCode, JSON.stringify(copied.items[0]?.error?.message)).toBe(0)
    expect(Date.now() - started).toBeGreaterThan(4000)
    expect(copied.events.filter(({type}) => type === 'blob.retry')).toEqual([])
    // One for the beginning, one for what came after the layer.
    expect(tokens.asked.length).toBeGreaterThanOrEqual(2)
  })

  test('trap 29: where tags cannot be written twice, a second run passes, and a moved tag is said to be refused', async () => {
    const proxy = await faultProxy(target.host)
    closing.push(() => proxy.close())
    const to = `${proxy.host}/immutable`
    expect(await copyReferences([app10()], to)).toMatchObject({exitCode: 0})
    proxy.faults = [
      {
        when: ({method, path}) => method === 'PUT' && path.includes('/manifests/1.0'),
        answer: {status: 400, body: '{"errors":[{"code":"TAG_INVALID","message":"the tag 1.0 is immutable"}]}'},
      },
    ]
    expect(await copyReferences([app10()], to)).toMatchObject({exitCode: 0, changed: false})
    const other = image('moved')
    await push(source.host, 'acme/moved', other, ['1.0'])
    await push(target.host, 'immutable/acme/moved', image('before'), ['1.0'])
    const moved = await copyReferences([`${source.host}/acme/moved:1.0`], to, {moveTags: true})
    expect(moved).toMatchObject({exitCode: 32})
    expect(moved.items[0]?.error?.message).toContain('the tag 1.0 is immutable')
  })

  test('trap 31: a pull-through cache is called one; what it can fetch by itself is there, the rest is refused and nothing tagged', async () => {
    const upstream = await registries.start(parts['registry-2.8'])
    await push(upstream.host, 'acme/app', app, ['1.0'])
    const cache = await registries.start(parts['registry-3'], {extra: `proxy: {remoteurl: "http://${upstream.host}"}`})
    const other = image('not upstream')
    await push(source.host, 'acme/other', other, ['1.0'])
    const refused = await copyReferences([`${source.host}/acme/other:1.0`], cache.host)
    expect(refused, refused.items[0]?.error?.message).toMatchObject({exitCode: 32})
    expect(`${refused.items[0]?.error?.message} ${refused.items[0]?.error?.hints.join()}`).toContain(
      'pull-through cache',
    )
    expect(await digestAt(upstream.host, 'acme/other', '1.0')).toBeUndefined()
    expect(await copyReferences([app10()], cache.host)).toMatchObject({exitCode: 0, changed: false})
  })

  test('trap 32: a sparse index that is refused is tagged nowhere; where it is taken, verify misses only wanted platforms', async () => {
    const sparse = {platforms: ['linux/amd64'], sparse: true, extras: 'none'} as const
    const strict = await registries.start(parts['registry-2.8'])
    const refused = await copyReferences([app10()], strict.host, sparse)
    expect(refused).toMatchObject({exitCode: 32})
    expect(refused.items[0]?.error?.message).toContain(app.digest)
    expect(await digestAt(strict.host, 'acme/app', '1.0')).toBeUndefined()
    const lenient = await registries.start(parts['registry-3'], {
      extra: 'validation: {manifests: {indexes: {platforms: none}}}',
    })
    expect(await copyReferences([app10()], lenient.host, sparse)).toMatchObject({exitCode: 0})
    expect(await digestAt(lenient.host, 'acme/app', '1.0')).toBe(app.digest)
    const lock = at('sparse.lock.yaml')
    await mirror(['plan', app10(), '--output-file', lock], [source.host])
    const verify = (platform: string) =>
      mirror(
        ['verify', '--plan-file', lock, '--to', lenient.host, '--platform', platform, '-o', 'json'],
        [lenient.host],
      )
    expect(await verify('linux/amd64')).toMatchObject({exitCode: 0})
    const missed = await verify('linux/arm64')
    expect(missed.exitCode).toBe(22)
    expect(missed.stdout).toContain(`${app.children[1]?.digest} is not there (linux/arm64`)
    expect(missed.stdout).not.toContain(app.children[2]?.digest)
  })

  test('trap 44: localhost means either address, and a registry on 127.0.0.1 alone is reached by it', async () => {
    const port = target.host.split(':')[1]
    expect(await copyReferences([app10()], `localhost:${port}/named`)).toMatchObject({exitCode: 0})
    expect(await missingAt(target.host, 'named/acme/app', app)).toEqual([])
  })

  test('trap 46: refusals with bodies use one connection again and again', async () => {
    const relay = await tcpRelay(source.host)
    closing.push(() => relay.close())
    const client = openRegistryClient({env: {HOME: '/nonexistent'}, plainHttp: [relay.host]})
    const repository = new Repository(client, relay.host, 'acme/app', 'pull')
    for (let at = 0; at < 40; at++)
      await repository.manifest(`none-${at}`).then(
        () => expect.unreachable(),
        (error: unknown) => expect(isNotFound(error)).toBe(true),
      )
    client.close()
    expect(relay.connections).toBe(1)
  })

  test('trap 46: a kept connection that was closed meanwhile costs no try, also where an upload begins', async () => {
    const closed: string[] = []
    const relay = await tcpRelay(target.host, {
      closed: (request, count) => {
        // Two after each other, since more than one may have been closed.
        const now = (request.startsWith('POST ') || count % 3 > 0) && /^(?:GET|HEAD|POST) /.test(request)
        if (now) closed.push(request)
        return now
      },
    })
    closing.push(() => relay.close())
    const many = image('kept', {layers: 20, layerSize: 3000})
    await push(source.host, 'acme/kept', many, ['1.0'])
    const copied = await copyReferences([`${source.host}/acme/kept:1.0`], `${relay.host}/kept`)
    expect(copied).toMatchObject({exitCode: 0})
    expect(closed.some((request) => request.startsWith('POST '))).toBe(true)
    expect(copied.events.filter(({type}) => type === 'request.retry' || type === 'blob.retry')).toEqual([])
    expect(await missingAt(target.host, 'kept/acme/kept', many)).toEqual([])
  })

  test('trap 46: certificates are read once for a registry, not once a connection', async () => {
    const authority = testAuthority('traps ca')
    const {cert, key} = authority.issue('127.0.0.1', ['127.0.0.1'])
    for (const [name, pem] of Object.entries({'ca.pem': authority.cert, 'tls.crt': cert, 'tls.key': key}))
      writeFileSync(at(name), pem)
    const secure = await registries.start(parts['registry-3'], {
      tls: true,
      http: `  tls: {certificate: "${at('tls.crt')}", key: "${at('tls.key')}"}`,
    })
    const contexts = vi.spyOn(process.getBuiltinModule('node:tls'), 'createSecureContext')
    closing.push(() => contexts.mockRestore())
    const many = image('secure', {layers: 20, layerSize: 3000})
    await push(source.host, 'acme/secure', many, ['1.0'])
    const copied = await copyReferences([`${source.host}/acme/secure:1.0`], secure.host, {
      plain: [source.host],
      open: {caFiles: [at('ca.pem')], certificateFolders: []},
    })
    expect(copied).toMatchObject({exitCode: 0})
    expect(contexts).toHaveBeenCalledTimes(1)
  })
})

await describeWith('traps of charts, with Helm', ['registry-3', 'helm'], (parts) => {
  const registries = new Registries()
  const at = (name: string) => join(registries.path, name)
  let source: TestRegistry
  let target: TestRegistry

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.start(parts['registry-3']),
      registries.start(parts['registry-3']),
    ])
  })
  afterAll(() => registries.stop())

  test.each(['keep', 'host-prefix', 'flat'])(
    'trap 34, 35: a chart keeps its name as the last component, so that Helm finds it (--layout %s)',
    async (layout) => {
      const files = {'Chart.yaml': 'apiVersion: v2\nname: app\nversion: 1.2.0+build.3\n', 'values.yaml': '{}\n'}
      const pack: Document = chart('app', '1.2.0+build.3', files)
      await push(source.host, 'team/charts/app', pack, ['1.2.0_build.3'])
      const copied = await mirror(
        [
          'copy',
          `oci://${source.host}/team/charts/app:1.2.0+build.3`,
          '--to',
          `${target.host}/${layout}`,
          '--layout',
          layout,
          '-o',
          'name',
        ],
        [source.host, target.host],
      )
      expect(copied).toMatchObject({exitCode: 0})
      const place = copied.stdout.trim().replace(/@.*$/, '')
      const folder = at(`pulled-${layout}`)
      mkdirSync(folder)
      const pulled = await run(
        parts.helm,
        ['pull', `oci://${place.replace(/:[^/:]*$/, '')}`, '--version', '1.2.0+build.3', '--plain-http', '-d', folder],
        {HOME: folder},
      )
      expect(pulled).toMatchObject({code: 0})
      expect(pulled.stdout + pulled.stderr).toContain(pack.digest)
    },
  )

  test('trap 37: labels and comparisons built from the tag are named before a digest goes in', async () => {
    const app = image('labelled')
    await push(source.host, 'acme/app', app, ['1.0'])
    const folder = at('labelled')
    mkdirSync(join(folder, 'templates'), {recursive: true})
    writeFileSync(join(folder, 'Chart.yaml'), 'apiVersion: v2\nname: labelled\nversion: 1.0.0\n')
    writeFileSync(join(folder, 'values.yaml'), `image: {repository: ${source.host}/acme/app, tag: "1.0"}\n`)
    writeFileSync(
      join(folder, 'templates/pod.yaml'),
      [
        'apiVersion: v1',
        'kind: Pod',
        'metadata:',
        '  name: app',
        '  labels:',
        '    app.kubernetes.io/version: {{ .Values.image.tag | quote }}',
        'spec:',
        '  containers:',
        '    - name: app',
        '      image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"',
        '',
      ].join('\n'),
    )
    const lock = at('labelled.lock.yaml')
    const planned = await mirror(['plan', '-f', folder, '--output-file', lock], [source.host])
    expect(planned).toMatchObject({exitCode: 0, stderr: expect.stringContaining('templates/pod.yaml:6')})
    const overlay = at('labelled-overlay.yaml')
    const values = await mirror(
      ['values', '-f', folder, '--plan-file', lock, '--to', 'mirror.example.org', '--output-file', overlay],
      [],
      {HELM_BIN: parts.helm},
    )
    expect(values.exitCode, values.stderr).toBe(0)
    expect(values.stderr).toContain('templates/pod.yaml:6 uses an image tag as a label')
    // It is true: with the digest in the tag, the label is none that Kubernetes takes.
    const rendered = await run(parts.helm, ['template', 'x', folder, '-f', overlay], {HOME: registries.path})
    expect(rendered.stdout).toContain(`app.kubernetes.io/version: "1.0@${sha256(app.bytes)}"`)
  })
})
