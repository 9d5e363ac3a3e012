import {mkdir, mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import fc from 'fast-check'
import {inClusterConfig, loadKubeconfig} from '../../../../src/kube/index.ts'
import type {KubeFlags} from '../../../../src/kube/index.ts'
import {parseKubeconfig} from '../../../../src/kube/config/parse.ts'
import {SrcipError} from '../../../../src/model/errors.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'))
})
afterEach(async () => {
  await rm(folder, {recursive: true})
})

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await mkdir(join(path, '..'), {recursive: true})
  await writeFile(path, text)
  return path
}

const two = `
apiVersion: v1
kind: Config
current-context: red
clusters:
- {name: red, cluster: {server: "https://red.example.org:6443", certificate-authority: pki/ca.crt, tls-server-name: inner}}
- {name: blue, cluster: {server: "https://blue.example.org", certificate-authority-data: Q0E=, proxy-url: "http://proxy.example.org:3128"}}
contexts:
- {name: red, context: {cluster: red, user: alice, namespace: edge}}
- {name: blue, context: {cluster: blue, user: bob}}
- {name: broken, context: {cluster: nowhere, user: alice}}
users:
- {name: alice, user: {client-certificate: ../alice.crt, client-key: /keys/alice.key}}
- {name: bob, user: {token: bobs-token, as: carol, as-uid: "7", as-groups: [a, b], as-user-extra: {scopes: [x, y]}}}
`

describe('one file', () => {
  test('gives the current context, with paths from the file’s own folder', async () => {
    const path = await file('sub/config', two)
    expect(await loadKubeconfig({kubeconfig: path}, {})).toEqual({
      source: path,
      context: 'red',
      clusterName: 'red',
      userName: 'alice',
      namespace: 'edge',
      server: 'https://red.example.org:6443',
      certificateAuthority: {file: join(folder, 'sub/pki/ca.crt')},
      insecureSkipTlsVerify: false,
      tlsServerName: 'inner',
      disableCompression: false,
      user: {clientCertificate: {file: join(folder, 'alice.crt')}, clientKey: {file: '/keys/alice.key'}},
      impersonate: {groups: [], extra: {}},
    })
  })

  test('another context brings its own cluster, user and impersonation', async () => {
    const config = await loadKubeconfig({kubeconfig: await file('config', two), context: 'blue'}, {})
    expect(config).toMatchObject({
      namespace: 'default',
      proxyUrl: 'http://proxy.example.org:3128',
      certificateAuthority: {data: Buffer.from('CA')},
      user: {token: 'bobs-token'},
      impersonate: {user: 'carol', uid: '7', groups: ['a', 'b'], extra: {scopes: ['x', 'y']}},
    })
  })
})

describe('flags win', () => {
  const cases: [string, KubeFlags, object][] = [
    ['--namespace', {namespace: 'other'}, {namespace: 'other'}],
    ['--cluster', {cluster: 'blue'}, {server: 'https://blue.example.org', userName: 'alice'}],
    ['--user', {user: 'bob'}, {server: 'https://red.example.org:6443', user: {token: 'bobs-token'}}],
    [
      '--server clears tls-server-name',
      {server: 'https://other:1/base/?a=b#c'},
      {server: 'https://other:1/base', tlsServerName: undefined},
    ],
    ['--tls-server-name', {tlsServerName: 'mine'}, {tlsServerName: 'mine'}],
    ['--certificate-authority', {certificateAuthority: '/my/ca'}, {certificateAuthority: {file: '/my/ca'}}],
    [
      '--insecure-skip-tls-verify clears the CA',
      {insecureSkipTlsVerify: true},
      {certificateAuthority: undefined, insecureSkipTlsVerify: true},
    ],
    ['--token', {token: 'given'}, {user: {token: 'given'}}],
    [
      '--as',
      {as: 'x', asGroup: ['g', 'h'], asUid: '1', asUserExtra: ['k=v', 'k=w']},
      {impersonate: {user: 'x', uid: '1', groups: ['g', 'h'], extra: {k: ['v', 'w']}}},
    ],
    [
      '--as-group alone keeps the user of the file',
      {context: 'blue', asGroup: ['g']},
      {impersonate: {user: 'carol', uid: '7', groups: ['g']}},
    ],
    ['--request-timeout', {requestTimeout: '5'}, {requestTimeoutMs: 5000}],
    ['a server without a scheme is http', {server: 'localhost:8080'}, {server: 'http://localhost:8080'}],
    ['empty flags do not count', {namespace: '', context: '', token: ''}, {namespace: 'edge', context: 'red'}],
  ]
  test.each(cases)('%s', async (_, flags, expected) => {
    const config = await loadKubeconfig({kubeconfig: await file('config', two), ...flags}, {})
    for (const [key, value] of Object.entries(expected as Record<string, unknown>)) {
      if (value === undefined) expect(config).not.toHaveProperty(key)
      else expect(config).toMatchObject({[key]: value})
    }
  })

  test('--token takes the place of a token file', async () => {
    const path = await file(
      'config',
      `current-context: c
clusters: [{name: c, cluster: {server: "https://c"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {tokenFile: token}}]`,
    )
    expect((await loadKubeconfig({kubeconfig: path}, {})).user).toEqual({tokenFile: join(folder, 'token')})
    expect((await loadKubeconfig({kubeconfig: path, token: 'given'}, {})).user).toEqual({token: 'given'})
  })
})

describe('several files', () => {
  const first = `
clusters: [{name: shared, cluster: {server: "https://first"}}]
contexts: [{name: one, context: {cluster: shared, user: only-second}}]
`
  const second = `
current-context: one
clusters: [{name: shared, cluster: {server: "https://second", tls-server-name: not-taken}}, {name: more, cluster: {server: "https://more"}}]
users: [{name: only-second, user: {token: from-second}}]
`
  test('the first to name an entry gives the whole entry, the first current-context counts, missing files are skipped', async () => {
    const paths = [await file('a/config', first), join(folder, 'missing'), '', await file('b/config', second)]
    const config = await loadKubeconfig({}, {KUBECONFIG: paths.join(':')})
    expect(config).toMatchObject({server: 'https://first', context: 'one', user: {token: 'from-second'}})
    expect(config).not.toHaveProperty('tlsServerName')
    expect(config.source).toBe(`${paths[0]}, ${paths[3]}`)
  })

  test('--kubeconfig is read alone, and must be there', async () => {
    const env = {KUBECONFIG: await file('config', two)}
    await expect(loadKubeconfig({kubeconfig: join(folder, 'missing')}, env)).rejects.toMatchObject({
      exitCode: 2,
      object: join(folder, 'missing'),
    })
  })

  test('HOME is the last resort', async () => {
    await file('.kube/config', two)
    expect((await loadKubeconfig({}, {HOME: folder})).server).toBe('https://red.example.org:6443')
  })
})

test('Helm hands its flags over in the environment, only to its own plugins', async () => {
  const env = {
    KUBECONFIG: await file('config', two),
    HELM_NAMESPACE: 'helm',
    HELM_KUBECONTEXT: 'blue',
    HELM_KUBEASUSER: 'dave',
  }
  expect(await loadKubeconfig({}, env)).toMatchObject({context: 'red', namespace: 'edge'})
  const asPlugin = await loadKubeconfig({}, {...env, HELM_PLUGIN_DIR: '/plugins/srcip'})
  expect(asPlugin).toMatchObject({context: 'blue', namespace: 'helm', impersonate: {user: 'dave'}})
})

describe('refused, with exit 2', () => {
  const user = (text: string) => `current-context: c
clusters: [{name: c, cluster: {server: "https://c"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: ${text}}]`
  const cluster = (text: string) => `current-context: c
clusters: [{name: c, cluster: ${text}}]
contexts: [{name: c, context: {cluster: c, user: u}}]`
  const exec = (text: string) => user(`{exec: ${text}}`)
  const v1 = 'apiVersion: client.authentication.k8s.io/v1'
  test.each<[string, string, KubeFlags, RegExp]>([
    ['an unknown context', two, {context: 'green'}, /context "green" does not exist/],
    ['a context whose cluster is not there', two, {context: 'broken'}, /cluster "nowhere" does not exist/],
    ['an unknown user', two, {user: 'nobody'}, /user "nobody" does not exist/],
    ['no current context', 'clusters: []', {}, /no current context/],
    ['an empty file', '', {}, /no current context/],
    ['a list', '[1, 2]', {}, /should be a map/],
    ['a name twice', 'users: [{name: a}, {name: a}]', {}, /users\[1\]: name "a" occurs twice/],
    ['broken YAML', 'a: [1\nb: {', {}, /line \d+ is not valid YAML/],
    ['a tab', 'a:\n\t- b', {}, /line 2 is not valid YAML/],
    [
      'base64 that is none',
      cluster('{server: "https://c", certificate-authority-data: "!!"}'),
      {},
      /certificate-authority-data: is not base64/,
    ],
    ['a server that is no URL', cluster('{server: "ftp://c"}'), {}, /server is not an http or https URL/],
    ['a password in the server', cluster('{server: "https://u:p@c"}'), {}, /must not contain a password/],
    ['a server with line ends', cluster('{server: "https://c/\\r\\nX: y"}'), {}, /server is not an http or https URL/],
    ['a server with blanks', cluster('{server: "https://c/a b"}'), {}, /server is not an http or https URL/],
    ['no server', cluster('{}'), {}, /no server/],
    ['a proxy login with a bare %', cluster('{server: "https://c", proxy-url: "http://u:p%s@p"}'), {}, /proxy-url/],
    ['a key twice', 'users: []\nclusters: []\nusers: []', {}, /line 3 is not valid YAML \(duplicate key\)/],
    ['a proxy of an unknown kind', cluster('{server: "https://c", proxy-url: "gopher://p"}'), {}, /proxy-url/],
    [
      'CA and no verification',
      cluster('{server: "https://c", certificate-authority: x, insecure-skip-tls-verify: true}'),
      {},
      /both set/,
    ],
    ['token and password', user('{token: a, username: b}'), {}, /only one is allowed/],
    ['a certificate without key', user('{client-certificate: a}'), {}, /needs client-key/],
    ['groups without a user to act as', user('{as-groups: [a]}'), {}, /needs a user/],
    [
      'an exec version that is gone',
      exec('{apiVersion: client.authentication.k8s.io/v1alpha1, command: a}'),
      {},
      /apiVersion must be/,
    ],
    ['exec v1 without interactiveMode', exec(`{${v1}, command: a}`), {}, /interactiveMode/],
    ['exec without command', exec(`{${v1}, interactiveMode: Never}`), {}, /command is missing/],
    [
      'an exec variable without name',
      exec(`{${v1}, interactiveMode: Never, command: a, env: [{value: b}]}`),
      {},
      /env\[0\]: name is missing/,
    ],
    [
      'exec beside auth-provider',
      user(`{auth-provider: {name: oidc}, exec: {${v1}, interactiveMode: Never, command: a}}`),
      {},
      /exclude each other/,
    ],
    ['a time-out that is none', two, {requestTimeout: 'soon'}, /--request-timeout soon/],
  ])('%s', async (_, text, flags, message) => {
    const path = await file('config', text)
    const error: unknown = await loadKubeconfig({kubeconfig: path, ...flags}, {}).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(SrcipError)
    expect(error).toMatchObject({exitCode: 2, message: expect.stringMatching(message)})
  })

  test('nothing at all', async () => {
    await expect(loadKubeconfig({}, {HOME: folder})).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('no kubeconfig found'),
    })
  })
})

describe('hostile files', () => {
  test('a bomb of aliases is refused quickly', async () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    for (let level = 1; level < 12; level += 1) {
      const ref = `*a${level - 1}`
      lines.push(`a${level}: &a${level} [${Array(10).fill(ref).join(', ')}]`)
    }
    await expect(parseKubeconfig(lines.join('\n'), 'bomb')).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('aliases'),
    })
  })

  test('a hundred thousand keys are read, or refused, in one pass', async () => {
    const keys = Array.from({length: 100_000}, (_, index) => `k${index}: v`)
    await expect(parseKubeconfig(keys.join('\n'), 'many')).resolves.toMatchObject({users: new Map()})
    await expect(parseKubeconfig([...keys, 'k7: w'].join('\n'), 'many')).rejects.toMatchObject({
      message: expect.stringContaining('line 100001 is not valid YAML (duplicate key)'),
    })
  })

  test('what is larger than any kubeconfig is not parsed', async () => {
    await expect(parseKubeconfig('#'.repeat(9 * 1024 * 1024), 'big')).rejects.toMatchObject({
      message: expect.stringContaining('larger than'),
    })
  })

  test('a message never quotes the file', async () => {
    const secret = 's3cr3t'
    for (const text of [
      `token: "${secret}" x`,
      `a: ${secret}\n b: [`,
      `users: ${secret}`,
      `? ${secret}\n: - {`,
      `"${secret}": 1\n"${secret}": 2`,
    ]) {
      const error: unknown = await parseKubeconfig(text, 'file').catch((reason: unknown) => reason)
      expect(String(error)).not.toContain(secret)
    }
  })

  test('keys of Object.prototype are keys like others', async () => {
    const config = await parseKubeconfig(
      '{"__proto__": {"clusters": 1}, "clusters": [{"name": "constructor", "cluster": {"__proto__": 1}}]}',
      'file',
    )
    expect([...config.clusters.keys()]).toEqual(['constructor'])
  })

  test('any text is either read or refused as usage', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.json(), fc.string({unit: fc.constantFrom(...'{}[]:-&*!?|>"\'\n \t#a1')})),
        async (text) => {
          try {
            await parseKubeconfig(text, 'file')
          } catch (error) {
            expect(error).toBeInstanceOf(SrcipError)
          }
        },
      ),
      {numRuns: 300},
    )
  })
})

describe('in a Pod', () => {
  test('address, token, CA and namespace of the service account', async () => {
    await file('token', 'abc')
    await file('ca.crt', 'pem')
    await file('namespace', 'srcip\n')
    const env = {KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443'}
    expect(await inClusterConfig(env, folder)).toEqual({
      source: 'in-cluster',
      namespace: 'srcip',
      server: 'https://[fd00::1]:443',
      certificateAuthority: {file: join(folder, 'ca.crt')},
      insecureSkipTlsVerify: false,
      disableCompression: true,
      user: {tokenFile: join(folder, 'token')},
      impersonate: {groups: [], extra: {}},
    })
    expect(await inClusterConfig({...env, POD_NAMESPACE: 'pod'}, folder)).toMatchObject({namespace: 'pod'})
    expect(await inClusterConfig({KUBERNETES_SERVICE_HOST: 'x'}, folder)).toBeUndefined()
    await rm(join(folder, 'token'))
    expect(await inClusterConfig(env, folder)).toBeUndefined()
  })
})
