import {afterEach, beforeEach, expect, test} from 'vitest'
import {createKubeClient, resources} from '../../../../src/kube/index.ts'
import type {ClusterConfig, KubeClient} from '../../../../src/kube/index.ts'
import {testAuthority} from '../../../support/certificates.ts'
import {ConnectProxy, SocksProxy} from '../../../support/connect-proxy.ts'
import {FakeApiServer} from '../../../support/fake-api-server.ts'
import {configFor} from '../../../support/kube-configs.ts'

const authority = testAuthority('ca')
const cm = {namespace: 'kube-system', name: 'coredns'}
let server: FakeApiServer
let proxy: ConnectProxy
let socks: SocksProxy
let client: KubeClient | undefined

beforeEach(async () => {
  server = await new FakeApiServer({tls: authority.issue('kube', ['kube.example.org'])}).start()
  server.objects.put('/v1/configmaps', {metadata: cm, data: {}})
  proxy = await new ConnectProxy(() => server.port).start()
  socks = await new SocksProxy(() => server.port).start()
})
afterEach(async () => {
  client?.close()
  await proxy.stop()
  await socks.stop()
  await server.kill()
})

function connect(config: Partial<ClusterConfig>, env: Record<string, string> = {}): KubeClient {
  const fields = {
    certificateAuthority: {data: Buffer.from(authority.cert)},
    tlsServerName: 'kube.example.org',
    ...config,
  }
  client = createKubeClient(configFor('https://192.0.2.1:6443', fields), {env, rate: 'unlimited'})
  return client
}

test('proxy-url with CONNECT, a login, and one tunnel for many requests', async () => {
  const through = connect({proxyUrl: `http://user:p%40ss@127.0.0.1:${proxy.port}`})
  for (let round = 0; round < 5; round += 1) await through.get(resources.configMaps, cm)
  expect(proxy.seen).toEqual(['CONNECT 192.0.2.1:6443'])
  expect(proxy.authorizations).toEqual([`Basic ${Buffer.from('user:p@ss').toString('base64')}`])
})

test('HTTPS_PROXY is followed, NO_PROXY exempts, and proxy-url knows no exception', async () => {
  const env = {HTTPS_PROXY: `127.0.0.1:${proxy.port}`}
  await connect({}, env).get(resources.configMaps, cm)
  expect(proxy.seen).toHaveLength(1)
  const direct = connect({}, {...env, NO_PROXY: '192.0.2.0/24'})
  await expect(direct.get(resources.configMaps, cm, {timeoutMs: 300})).rejects.toMatchObject({})
  expect(proxy.seen).toHaveLength(1)
  await connect({proxyUrl: `http://127.0.0.1:${proxy.port}`}, {NO_PROXY: '*'}).get(resources.configMaps, cm)
  expect(proxy.seen).toHaveLength(2)
  const both = connect({proxyUrl: `http://127.0.0.1:${proxy.port}`}, {HTTPS_PROXY: 'http://127.0.0.1:1'})
  await both.get(resources.configMaps, cm)
  expect(proxy.seen).toHaveLength(3)
})

test('a proxy that says no, and one that is not there, name the proxy but not its password', async () => {
  proxy.refuse = 407
  const refused = connect({proxyUrl: `http://u:secret@127.0.0.1:${proxy.port}`})
  const error: unknown = await refused.get(resources.configMaps, cm).catch((reason: unknown) => reason)
  expect(error).toMatchObject({
    exitCode: 30,
    reason: 'EPROXY',
    message: expect.stringMatching(/through the proxy of the kubeconfig: .*HTTP 407/),
  })
  expect(String(error)).not.toContain('secret')
  await expect(connect({proxyUrl: 'http://127.0.0.1:1'}).get(resources.configMaps, cm)).rejects.toMatchObject({
    exitCode: 30,
    reason: 'ECONNREFUSED',
  })
})

test('an https proxy is verified like any server', async () => {
  const through = connect({proxyUrl: `https://127.0.0.1:${server.port}`})
  await expect(through.get(resources.configMaps, cm)).rejects.toMatchObject({exitCode: 30})
  expect(server.requests).toHaveLength(0)
})

test('SOCKS5, with the name resolved by the proxy, and a login', async () => {
  socks.login = 'user:pass'
  const named = createKubeClient(
    configFor('https://kube.example.org:6443', {
      certificateAuthority: {data: Buffer.from(authority.cert)},
      proxyUrl: `socks5://user:pass@127.0.0.1:${socks.port}`,
    }),
    {env: {}},
  )
  await named.get(resources.configMaps, cm)
  named.close()
  expect(socks.seen).toEqual(['kube.example.org:6443'])
  socks.login = undefined
  await connect({proxyUrl: `socks5h://127.0.0.1:${socks.port}`}).get(resources.configMaps, cm)
  expect(socks.seen[1]).toBe('192.0.2.1:6443')
  socks.reply = 2
  await expect(
    connect({proxyUrl: `socks5://127.0.0.1:${socks.port}`}).get(resources.configMaps, cm),
  ).rejects.toMatchObject({
    reason: 'EPROXY',
    message: expect.stringContaining('not allowed'),
  })
  socks.login = 'other:login'
  await expect(
    connect({proxyUrl: `socks5://127.0.0.1:${socks.port}`}).get(resources.configMaps, cm),
  ).rejects.toMatchObject({reason: 'EPROXY'})
})

test('a plain http server behind an http proxy is asked for by its whole URL', async () => {
  const plain = createKubeClient(
    configFor('http://kube.example.org:8080', {proxyUrl: `http://u:p@127.0.0.1:${proxy.port}`}),
    {env: {}},
  )
  await expect(plain.get(resources.configMaps, cm)).rejects.toMatchObject({status: 502})
  plain.close()
  expect(proxy.seen).toEqual(['GET http://kube.example.org:8080/api/v1/namespaces/kube-system/configmaps/coredns'])
  expect(proxy.authorizations).toEqual(['Basic dTpw'])
})
