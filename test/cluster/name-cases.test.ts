import {readFileSync} from 'node:fs'
import {afterEach, beforeAll, expect, test} from 'vitest'
import {reloadHash} from '../../plugins/coredns/src/index.ts'
import type {CorednsPlan} from '../../src/model/coredns-plan.ts'
import {caseObjects} from '../support/dns-objects.ts'
import {BED_PARTS, bedForSuite, describeWithParts, kubeadmCorefile, until, type KubeObject} from './bed/index.ts'

const proxyAddress = '10.96.5.5'
const map = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
const B10 = 'B10-host-answered-by-a-more-specific-block'
const caseText = (path: string) => readFileSync(new URL(`../cases/${path}`, import.meta.url), 'utf8')

await describeWithParts('which names are taken, on a real cluster', BED_PARTS, async () => {
  const current = await bedForSuite({ingress: 'none'})
  const coredns = (...argv: string[]) => current().cli(['kubectl', 'srcip', 'coredns', ...argv])
  const original = kubeadmCorefile('2s 1s')
  let made: KubeObject[] = []

  const answers = async (name: string) =>
    await Promise.all(
      current()
        .corednsPods()
        .map(async (pod) => (await current().resolve(name, {server: pod.address})).addresses.join()),
    )
  const settle = async (corefile: string) => {
    const bed = current()
    await bed.api.patch(map, {data: {Corefile: corefile}})
    const {value} = reloadHash(Buffer.from(corefile))
    await until('every CoreDNS runs the text', 60, async () => {
      const pods = [...bed.pods.items.values()].filter((pod) => pod.metadata.labels?.['k8s-app'] === 'kube-dns')
      const logs = await Promise.all(pods.map((pod) => bed.podLog(`kube-system/${pod.metadata.name}`)))
      return logs.every((log) => [...log.matchAll(/SHA512 = (\w+)/g)].at(-1)?.[1] === value)
    })
  }
  const corefile = async () =>
    (
      await current().api.get<KubeObject & {data: {Corefile: string}}>(
        '/api/v1/namespaces/kube-system/configmaps/coredns',
      )
    ).data.Corefile
  const install = async (folder: string) => {
    for (const object of caseObjects(`${folder}/objects.yaml`) as unknown as KubeObject[]) {
      await current().create(object)
      made.push(object)
    }
  }
  const planned = async (...argv: string[]) => {
    const {code, stdout, stderr} = await coredns('plan', '-o', 'json', ...argv)
    const plan = JSON.parse(stdout || '{}') as CorednsPlan
    return {code, stderr, plan, names: plan.hosts.map(({name}) => name).toSorted()}
  }

  beforeAll(async () => {
    const bed = current()
    for (const name of ['srcip', 'demo', 'auth']) {
      await bed.api.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name}}).catch(() => undefined)
    }
    await bed.create({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {name: 'srcip-proxy', namespace: 'srcip'},
      spec: {clusterIP: proxyAddress, selector: {app: 'x'}, ports: [{port: 443}]},
    })
  })
  afterEach(async () => {
    for (const object of made) await current().api.delete(object)
    made = []
    await current().api.patch(map, {data: {Corefile: original}})
  })

  test(
    'B10: two names stand, the third is refused by name; either way out of the message takes it',
    {timeout: 240_000},
    async () => {
      const before = caseText(`${B10}/Corefile`).replace('    reload\n', '    reload 2s 1s\n')
      const hosts = ['--host', caseText(`${B10}/hosts.txt`).trim().split('\n').join()]
      await settle(before)
      const partly = await coredns('apply', ...hosts, '--yes')
      expect(partly.code, partly.stderr).toBe(23)
      expect(partly.stderr).toMatch(/refused: app\.example\.org: .*"example\.org:53".*192\.0\.2\.53/)
      expect(await answers('shop.example.com')).toEqual([proxyAddress, proxyAddress])
      expect(await answers('web.apps.example.net')).toEqual([proxyAddress, proxyAddress])
      const [, line, key] = /add the line "(.+?)".* of its own, "(.+?)", a copy/.exec(partly.stderr) ?? []
      expect([line, key]).toEqual(['kubernetes cluster.local', 'app.example.org:53'])

      const block = 'example.org:53 {\n    errors\n    cache 30\n    forward . 192.0.2.53\n}\n'
      expect(before).toContain(block)
      const withLine = block.replace('errors\n', `errors\n    ${line}\n`)
      for (const text of [
        before.replace(block, withLine),
        before.replace(block, block + withLine.replace('example.org:53', key!)),
      ]) {
        await settle(text)
        const whole = await coredns('apply', ...hosts, '--yes')
        expect(whole.code, whole.stderr).toBe(0)
        expect(await answers('app.example.org')).toEqual([proxyAddress, proxyAddress])
      }
    },
  )

  test('B25: rules and tls together; what has no host is one note each', async () => {
    await install('B25-http-only-and-empty-tls')
    const {code, plan, names, stderr} = await planned()
    expect(code, stderr).toBe(0)
    expect(names).toEqual(['bare-tls.example.org', 'cert-only.example.org', 'http.example.org', 'rule.example.org'])
    expect(plan.warnings.filter((text) => text.includes('is left out'))).toEqual([
      'ingress/demo/default-backend-only is left out: answers every name: cannot be rewritten',
      'ingress/demo/no-host is left out: answers every name: cannot be rewritten',
    ])
  })

  test(
    'B26: a wildcard is shown as not covered; asked for, it takes one label and spares the name of another class',
    {timeout: 120_000},
    async () => {
      await settle(original)
      await install('B26-wildcard-hosts')
      const without = await planned('--ingress-class', 'nginx')
      expect(without).toMatchObject({code: 0, names: ['api.example.org', 'example.org']})
      expect(without.plan.warnings).toContainEqual(expect.stringContaining('*.example.org is not covered'))

      const own = await answers('static.example.org')
      const applied = await coredns('apply', '--ingress-class', 'nginx', '--wildcards', '--yes')
      expect(applied.code, applied.stderr).toBe(0)
      const rules = (await corefile()).match(/^ *rewrite .*$/gm)?.map((rule) => rule.trim())
      expect(rules?.slice(0, -1)).toEqual([
        'rewrite name exact api.example.org srcip-proxy.srcip.svc.cluster.local.',
        'rewrite name exact example.org srcip-proxy.srcip.svc.cluster.local.',
        'rewrite name exact static.example.org static.example.org.',
      ])
      expect(rules?.at(-1)).toMatch(/^rewrite name regex \^\S+\\\.example\\\.org\\\.\$ \S+\. answer auto$/)
      for (const name of ['api.example.org', 'example.org', 'any.example.org'])
        expect(await answers(name), name).toEqual([proxyAddress, proxyAddress])
      expect(await answers('two.labels.example.org')).not.toContain(proxyAddress)
      expect(await answers('static.example.org')).toEqual(own)
      expect(own).not.toContain(proxyAddress)
    },
  )

  test('B29: both names of the circle are refused, object by object; doctor names the caller', async () => {
    await install('B29-externalname-to-our-own-public-name')
    const {code, plan, names, stderr} = await planned()
    expect({code, names}, stderr).toEqual({code: 32, names: []})
    expect(plan.refused.map(({name, code: why}) => `${name} ${why}`)).toEqual([
      'app.example.org HostCircle',
      'loop.example.org HostCircle',
    ])
    for (const part of ['ingress/demo/app', 'service/demo/loopback', 'ingress/demo/loop', 'service/demo/self'])
      expect(plan.refused[0]?.reason).toContain(part)
    const {stdout} = await current().cli(['kubectl', 'srcip', 'doctor', '-o', 'json'])
    const caller = (
      JSON.parse(stdout) as {findings: {evidence: {object?: string; value?: string}[]}[]}
    ).findings.filter(({evidence}) => evidence.some(({object}) => object === 'service/demo/self'))
    expect(JSON.stringify(caller)).toContain('app.example.org')
  })

  test('B30: names that live in annotations; doctor names who calls one of them from inside', async () => {
    await install('B30-hosts-that-live-in-annotations')
    const {code, names, stderr} = await planned()
    expect(code, stderr).toBe(0)
    expect(names).toEqual([
      'brand.example.org',
      'login.example.org',
      'shop.example.com',
      'shop.example.org',
      'wiki.example.org',
      'www.brand.example.org',
      'www.shop.example.org',
    ])
    const {stdout} = await current().cli(['kubectl', 'srcip', 'doctor', '-o', 'json'])
    const caller = (JSON.parse(stdout) as {findings: {evidence: {object?: string}[]}[]}).findings.filter(({evidence}) =>
      evidence.some(({object}) => object === 'ingress/demo/protected'),
    )
    expect(JSON.stringify(caller)).toContain('login.example.org')
  })
})
