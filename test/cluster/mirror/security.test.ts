import {execFileSync} from 'node:child_process'
import {createServer} from 'node:http'
import {mkdirSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterAll, afterEach, beforeAll, expect, test} from 'vitest'
import {testAuthority} from '../../support/certificates.ts'
import {ConnectProxy} from '../../support/connect-proxy.ts'
import {mirror} from './command.ts'
import {faultProxy} from './fault-proxy.ts'
import {digestAt, image, multiArch, push} from './images.ts'
import {layoutRegistry} from './layout-registry.ts'
import {tokenServer, type TokenServer} from './logins.ts'
import {describeWith} from './parts.ts'
import {freePort, Registries, type TestRegistry} from './registries.ts'

const secret = 's3cr3t-do-not-print'

await describeWith('logins, certificates, redirects', ['registry-3', 'registry-2.8', 'openssl'], (parts) => {
  const registries = new Registries()
  const closing: (() => Promise<void>)[] = []
  const app = multiArch('security', {layerSize: 20_000})
  let source: TestRegistry
  let target: TestRegistry
  const at = (name: string) => join(registries.path, name)
  let files = 0

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

  function authFile(content: object): string {
    const path = at(`auth-${files++}.json`)
    writeFileSync(path, JSON.stringify(content))
    return path
  }
  const basic = (user: string, password: string) => ({auth: Buffer.from(`${user}:${password}`).toString('base64')})

  async function bearer(options: {anonymousPull: boolean}): Promise<{registry: TestRegistry; tokens: TokenServer}> {
    const tokens = await tokenServer('test-registry', options)
    closing.push(() => tokens.close())
    const bundle = at(`tokens-${files++}.pem`)
    writeFileSync(bundle, tokens.certificate)
    const auth = `auth: {token: {realm: "${tokens.realm}", service: test-registry, issuer: issuer, rootcertbundle: "${bundle}"}}`
    return {tokens, registry: await registries.start(parts['registry-3'], {extra: auth})}
  }

  test('a bearer registry: one token for what is needed, the login only to the realm, never in the output', async () => {
    const {registry, tokens} = await bearer({anonymousPull: false})
    tokens.users.set('pusher', secret)
    const file = authFile({auths: {[registry.host]: basic('pusher', secret)}})
    const copied = await mirror(
      [
        'copy',
        `${source.host}/acme/app:1.0`,
        '--to',
        registry.host,
        '--authfile',
        file,
        '--events',
        `jsonl=${at('events')}`,
      ],
      [source.host, registry.host],
    )
    expect(copied).toMatchObject({exitCode: 0})
    expect(copied.stdout + copied.stderr + execFileSync('cat', [at('events')], {encoding: 'utf8'})).not.toContain(
      secret,
    )
    expect(tokens.asked.every(({user}) => user === 'pusher')).toBe(true)
    expect(new Set(tokens.asked.flatMap(({scopes}) => scopes))).toEqual(new Set(['repository:acme/app:pull,push']))
    expect(tokens.asked.length).toBeLessThanOrEqual(3)
    const anonymous = await mirror(
      ['copy', `${registry.host}/acme/app:1.0`, '--to', target.host],
      [registry.host, target.host],
    )
    expect(anonymous).toMatchObject({exitCode: 31, stdout: expect.stringContaining('no login was found')})
  })

  test('a wrong password is 31, names the file and key, and shows nothing of it', async () => {
    const {registry, tokens} = await bearer({anonymousPull: false})
    tokens.users.set('pusher', 'right')
    const file = authFile({auths: {[registry.host]: basic('pusher', secret)}})
    const refused = await mirror(
      ['copy', `${source.host}/acme/app:1.0`, '--to', registry.host, '--authfile', file],
      [source.host, registry.host],
    )
    expect(refused.exitCode).toBe(31)
    expect(refused.stdout).toContain(`${file}, key ${registry.host}`)
    expect(refused.stdout + refused.stderr).not.toContain(secret)
  })

  test('trap 21: a stale login does not keep a public image away, and is said; an identity token is refreshed by POST', async () => {
    const {registry, tokens} = await bearer({anonymousPull: true})
    tokens.users.set('pusher', secret)
    const login = authFile({auths: {[registry.host]: {auth: '', identitytoken: 'refresh me'}}})
    expect(
      await mirror(
        ['copy', `${source.host}/acme/app:1.0`, '--to', registry.host, '--authfile', login],
        [source.host, registry.host],
      ),
    ).toMatchObject({exitCode: 0})
    expect(tokens.asked.some(({user, method}) => user === 'refresher' && method === 'POST')).toBe(true)
    const stale = authFile({auths: {[registry.host]: basic('pusher', 'old')}})
    const pulled = await mirror(
      ['copy', `${registry.host}/acme/app:1.0`, '--to', `${target.host}/stale`, '--authfile', stale],
      [registry.host, target.host],
    )
    expect(pulled).toMatchObject({exitCode: 0, stderr: expect.stringContaining('trying without a login')})
  })

  test('tokens that die in the middle are renewed; a token endpoint may fail once', async () => {
    const {registry, tokens} = await bearer({anonymousPull: true})
    tokens.users.set('pusher', secret)
    const login = authFile({auths: {[registry.host]: basic('pusher', secret)}})
    tokens.failures.push(500)
    // The registry forgives 60 s, so tokens are signed as dead for longer than that from the third on.
    const many = image('many', {layers: 12, layerSize: 5000})
    await push(source.host, 'acme/many', many, ['1.0'])
    const proxy = await faultProxy(registry.host, [
      {
        when: ({method, hit}) => method === 'POST' && hit % 4 === 2 && hit < 8,
        answer: {
          status: 401,
          headers: {
            'www-authenticate': `Bearer realm="${tokens.realm}",service="test-registry",scope="repository:acme/many:pull,push"`,
          },
        },
      },
    ])
    closing.push(() => proxy.close())
    const renamed = authFile({auths: {[proxy.host]: basic('pusher', secret)}})
    const copied = await mirror(
      ['copy', `${source.host}/acme/many:1.0`, '--to', proxy.host, '--authfile', renamed],
      [source.host, proxy.host],
    )
    expect(copied).toMatchObject({exitCode: 0})
    expect(login).not.toBe(renamed)
  })

  test('accounts by path: the longest prefix decides, and no account sees the other one’s repository', async () => {
    const accounts = await layoutRegistry({
      accounts: {'team/a': 'alice:one', 'team/a/deep': 'dora:four', team: 'tom:two'},
    })
    closing.push(() => accounts.close())
    const file = authFile({
      auths: {
        [`${accounts.host}/team`]: basic('tom', 'two'),
        [`https://${accounts.host}/team/a/`]: basic('alice', 'one'),
        [`${accounts.host}/team/a/deep`]: basic('dora', 'four'),
        [accounts.host]: basic('nobody', 'none'),
      },
    })
    for (const name of ['team/a/deep', 'team/a/x', 'team/b']) {
      const copied = await mirror(
        ['copy', `${source.host}/acme/app:1.0`, '--to', `${accounts.host}/${name}`, '--authfile', file],
        [source.host, accounts.host],
      )
      expect(copied).toMatchObject({exitCode: 0})
    }
    const used = (path: string) =>
      new Set(accounts.log.filter((line) => line.includes(` /v2/${path}/`)).map((line) => line.split(' ').at(-1)))
    expect(used('team/a/deep/acme/app')).toEqual(new Set(['-', 'dora']))
    expect([...used('team/a/x/acme/app')].filter((user) => user !== '-')).toEqual(['alice'])
    expect([...used('team/b/acme/app')].filter((user) => user !== '-')).toEqual(['tom'])
  })

  test('trap 21: credential programs are asked, a missing one does not stop a public copy', async () => {
    const programs = at('programs')
    mkdirSync(programs, {recursive: true})
    writeFileSync(
      join(programs, 'docker-credential-good'),
      '#!/bin/sh\nread host\necho "{\\"ServerURL\\":\\"$host\\",\\"Username\\":\\"alice\\",\\"Secret\\":\\"one\\"}"\n',
      {mode: 0o755},
    )
    const accounts = await layoutRegistry({accounts: {team: 'alice:one'}})
    closing.push(() => accounts.close())
    const docker = at('docker')
    mkdirSync(docker, {recursive: true})
    writeFileSync(
      join(docker, 'config.json'),
      JSON.stringify({credHelpers: {[accounts.host]: 'good', [source.host]: 'not-installed'}}),
    )
    const copied = await mirror(
      ['copy', `${source.host}/acme/app:1.0`, '--to', `${accounts.host}/team`],
      [source.host, accounts.host],
      {DOCKER_CONFIG: docker, PATH: `${programs}:${process.env['PATH']}`},
    )
    expect(copied).toMatchObject({exitCode: 0})
  })

  test('TLS: an own authority by --ca-file or certs.d, else 30; plain http only where it is named', async () => {
    const authority = testAuthority('mirror ca')
    const {cert, key} = authority.issue('127.0.0.1', ['127.0.0.1'])
    for (const [name, pem] of Object.entries({'ca.pem': authority.cert, 'tls.crt': cert, 'tls.key': key}))
      writeFileSync(at(name), pem)
    const secure = await registries.start(parts['registry-3'], {
      tls: true,
      http: `  tls: {certificate: "${at('tls.crt')}", key: "${at('tls.key')}"}`,
    })
    const copy = (more: readonly string[], env: Record<string, string> = {}) =>
      mirror(['copy', `${source.host}/acme/app:1.0`, '--to', secure.host, ...more], [source.host], env)
    expect(await copy([])).toMatchObject({exitCode: 30, stdout: expect.stringContaining('--ca-file')})
    expect(await copy(['--ca-file', at('ca.pem')])).toMatchObject({exitCode: 0})
    const home = at('home')
    mkdirSync(join(home, '.config/containers/certs.d', secure.host), {recursive: true})
    writeFileSync(join(home, '.config/containers/certs.d', secure.host, 'ca.crt'), authority.cert)
    expect(await copy([], {HOME: home})).toMatchObject({exitCode: 0})
    expect(await copy(['--skip-tls-verify', secure.host])).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining('is not checked'),
    })
    const unnamed = await mirror(['copy', `${source.host}/acme/app:1.0`, '--to', target.host], [target.host])
    expect(unnamed).toMatchObject({exitCode: 30, stdout: expect.stringContaining(`--plain-http ${source.host}`)})
  })

  test('through a forward proxy by CONNECT: the proxy sees the name, NO_PROXY and loopback go direct, a refusal is named', async () => {
    const authority = testAuthority('proxied ca')
    const {cert, key} = authority.issue('registry.example.org', ['registry.example.org'])
    for (const [name, pem] of Object.entries({
      'proxied-ca.pem': authority.cert,
      'proxied.crt': cert,
      'proxied.key': key,
    }))
      writeFileSync(at(name), pem)
    const secure = await registries.start(parts['registry-3'], {
      tls: true,
      http: `  tls: {certificate: "${at('proxied.crt')}", key: "${at('proxied.key')}"}`,
    })
    const proxy = new ConnectProxy(() => Number(secure.host.split(':')[1]))
    await proxy.start()
    closing.push(() => proxy.stop())
    const copy = (env: Record<string, string>) =>
      mirror(
        [
          'copy',
          `${source.host}/acme/app:1.0`,
          '--to',
          'registry.example.org/proxied',
          '--ca-file',
          at('proxied-ca.pem'),
        ],
        [source.host],
        env,
      )
    const login = `http://user:${secret}@127.0.0.1:${proxy.port}`
    const copied = await copy({https_proxy: login, HTTP_PROXY: login})
    expect(copied).toMatchObject({exitCode: 0})
    expect(new Set(proxy.seen)).toEqual(new Set(['CONNECT registry.example.org:443']))
    expect(proxy.authorizations[0]).toBe(`Basic ${Buffer.from(`user:${secret}`).toString('base64')}`)
    expect(await copy({https_proxy: login, no_proxy: '.example.org'})).toMatchObject({exitCode: 30})
    proxy.refuse = 407
    const refused = await copy({https_proxy: login})
    expect(refused).toMatchObject({exitCode: 31, stdout: expect.stringContaining('refused registry.example.org:443')})
    expect(refused.stdout + refused.stderr).not.toContain(secret)
  })

  test('trap 23: a login that the registry wants is left behind when it redirects to storage', async () => {
    const content = image('guarded', {layers: 1})
    const layer = content.blobs[1] as (typeof content.blobs)[number]
    const seen: (string | undefined)[] = []
    const storage = createServer((request, response) => {
      seen.push(request.headers.authorization)
      response.writeHead(200, {'content-length': String(layer.bytes.length)})
      response.end(layer.bytes)
    })
    await new Promise<void>((resolve) => storage.listen(0, '127.0.0.1', resolve))
    closing.push(() => new Promise((resolve) => storage.close(() => resolve())))
    const {port} = storage.address() as {port: number}
    const guarded = await layoutRegistry({
      accounts: {a: `alice:${secret}`},
      before: (request, response) => {
        const isBlob = request.method === 'GET' && request.url?.includes(layer.digest) === true
        if (!isBlob || request.headers.authorization === undefined) return false
        response.writeHead(307, {location: `http://127.0.0.1:${port}/bucket?X-Amz-Signature=${secret}`}).end()
        return true
      },
    })
    closing.push(() => guarded.close())
    guarded.manifests.set(`a/b ${content.digest}`, {bytes: content.bytes, type: content.mediaType})
    guarded.tags.set('a/b 1.0', content.digest)
    for (const one of content.blobs) guarded.blobs.set(one.digest, one.bytes)
    const file = authFile({auths: {[guarded.host]: basic('alice', secret)}})
    const copied = await mirror(
      ['copy', `${guarded.host}/a/b:1.0`, '--to', `${target.host}/guarded`, '--authfile', file],
      [guarded.host, target.host],
    )
    expect({code: copied.exitCode, seen}).toEqual({code: 0, seen: [undefined]})
    expect(copied.stdout + copied.stderr).not.toContain(secret)
  })

  test('trap 23: a redirect to storage carries no login, and one to link-local addresses is refused', async () => {
    const bytes = app.children[0]?.blobs[1]
    const seen: (string | undefined)[] = []
    const storage = createServer((request, response) => {
      seen.push(request.headers.authorization)
      response.writeHead(request.headers.authorization === undefined ? 200 : 400, {
        'content-length': String(bytes?.bytes.length),
      })
      response.end(bytes?.bytes)
    })
    const port = await freePort()
    await new Promise<void>((resolve) => storage.listen(port, '127.0.0.1', resolve))
    closing.push(() => new Promise((resolve) => storage.close(() => resolve())))
    const redirecting = await faultProxy(source.host, [
      {
        when: ({method, path}) => method === 'GET' && path.includes(bytes?.digest ?? ''),
        answer: {status: 307, headers: {location: `http://127.0.0.1:${port}/blob?X-Amz-Signature=${secret}`}},
      },
    ])
    closing.push(() => redirecting.close())
    const file = authFile({auths: {[redirecting.host]: basic('alice', 'one')}})
    const copied = await mirror(
      ['copy', `${redirecting.host}/acme/app:1.0`, '--to', `${target.host}/redirected`, '--authfile', file],
      [redirecting.host, target.host],
    )
    expect({code: copied.exitCode, seen}).toEqual({code: 0, seen: [undefined]})
    redirecting.faults = [
      {
        when: ({method, path}) => method === 'GET' && path.includes(bytes?.digest ?? ''),
        answer: {status: 307, headers: {location: 'file:///etc/passwd'}},
      },
    ]
    expect(
      await mirror(
        ['copy', `${redirecting.host}/acme/app:1.0`, '--to', `${target.host}/refused`],
        [redirecting.host, target.host],
      ),
    ).toMatchObject({exitCode: 31})
    redirecting.faults = [
      {
        when: ({method, path}) => method === 'GET' && path.includes(bytes?.digest ?? ''),
        answer: {status: 307, headers: {location: path(bytes?.digest)}},
      },
    ]
    const loop = await mirror(
      ['copy', `${redirecting.host}/acme/app:1.0`, '--to', `${target.host}/loop`],
      [redirecting.host, target.host],
    )
    expect(loop).toMatchObject({exitCode: 30, stdout: expect.stringContaining('redirects more than 5 times')})
    expect(await digestAt(target.host, 'loop/acme/app', '1.0')).toBeUndefined()
  })

  const path = (digest: string | undefined) => `/v2/acme/app/blobs/${digest}`

  test('control characters of a registry never reach the terminal', async () => {
    const hostile = await faultProxy(source.host, [
      {
        when: ({path: one}) => one.includes('/manifests/'),
        answer: {
          status: 400,
          headers: {'content-type': 'application/json'},
          body: JSON.stringify({errors: [{code: 'X', message: '\u001b]0;owned\u0007 token=abcdefgh'}]}),
        },
      },
    ])
    closing.push(() => hostile.close())
    const result = await mirror(
      ['copy', `${hostile.host}/acme/app:1.0`, '--to', target.host],
      [hostile.host, target.host],
    )
    expect(result.stdout + result.stderr).not.toContain('\u001b')
  })
})
