import {mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {parse} from 'yaml'
import {afterEach, beforeEach, expect, test} from 'vitest'
import {snapshotKinds} from '../../src/model/projection/project-object.ts'
import type {Snapshot} from '../../src/model/snapshot.ts'
import {FakeApiServer} from '../support/fake-api-server.ts'
import {srcip} from '../support/srcip.ts'

const cases = fileURLToPath(new URL('../cases/doctor/', import.meta.url))
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'srcip-snapshot-'))
})
afterEach(() => rmSync(folder, {recursive: true, force: true}))

test('from files: the document on stdout, nothing else', async () => {
  const {exitCode, stdout, stderr} = await srcip(['snapshot', '-f', join(cases, 'base.yaml')])
  expect({exitCode, stderr}).toEqual({exitCode: 0, stderr: ''})
  const snapshot = JSON.parse(stdout) as Snapshot
  expect(snapshot).toMatchObject({kind: 'Snapshot', source: 'files', format: 1})
  const yaml = await srcip(['snapshot', '-f', join(cases, 'base.yaml'), '-o', 'yaml'])
  expect(parse(yaml.stdout)).toEqual(snapshot)
})

test('what it writes is read back as the same objects', async () => {
  const first = await srcip(['snapshot', '-f', join(cases, 'base.yaml'), '-f', join(cases, 'parts/ingress-nginx.yaml')])
  const second = await srcip(['snapshot', '-f', '-'], {input: first.stdout})
  expect((JSON.parse(second.stdout) as Snapshot).objects).toEqual((JSON.parse(first.stdout) as Snapshot).objects)
})

test('a file is for its owner only, replaced in one step; a link is followed; a refusal leaves the old one', async () => {
  const file = join(folder, 'real.json')
  writeFileSync(file, 'old', {mode: 0o644})
  symlinkSync('real.json', join(folder, 'link.json'))
  const argv = ['snapshot', '-f', join(cases, 'base.yaml'), '--output-file']
  const {exitCode, stdout} = await srcip([...argv, join(folder, 'link.json')])
  expect({exitCode, stdout}).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(/^KIND +OBJECTS +READ\nNode +2 +from files\n/),
  })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect((JSON.parse(readFileSync(file, 'utf8')) as Snapshot).kind).toBe('Snapshot')
  expect(readdirSync(folder).toSorted()).toEqual(['link.json', 'real.json'])
  const refused = await srcip([...argv, join(folder, 'none', 'x.json')])
  expect(refused).toMatchObject({exitCode: 32, stdout: expect.stringContaining('"kind": "Error"')})
  expect(refused.stderr).toContain('cannot be written: its folder does not exist')
  const broken = await srcip(['snapshot', '-f', join(folder, 'missing'), '--output-file', file])
  expect(broken.exitCode).toBe(2)
  expect((JSON.parse(readFileSync(file, 'utf8')) as Snapshot).kind).toBe('Snapshot')
})

test('a device is written to, not replaced', async () => {
  symlinkSync('/dev/null', join(folder, 'null'))
  const {exitCode} = await srcip(['snapshot', '-f', join(cases, 'base.yaml'), '--output-file', join(folder, 'null')])
  expect(exitCode).toBe(0)
  expect(statSync('/dev/null').isCharacterDevice()).toBe(true)
  expect(readdirSync('/dev').filter((name) => name.includes('srcip'))).toEqual([])
})

test('--anonymise: the same file twice is the same bytes, without a name of the cluster', async () => {
  writeFileSync(
    join(folder, 'acme.yaml'),
    'apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: acmecorp, namespace: acmecorp}\nspec: {rules: [{host: shop.acmecorp.com}]}\n',
  )
  const argv = ['snapshot', '-f', folder, '--anonymise']
  const [one, other] = [await srcip(argv), await srcip(argv)]
  expect(one.stdout).toBe(other.stdout)
  expect(one.stdout).not.toContain('acmecorp')
  expect(JSON.parse(one.stdout)).toMatchObject({anonymised: true})
})

test('-o name and -o table', async () => {
  const argv = ['snapshot', '-f', join(cases, 'base.yaml'), '-o']
  expect((await srcip([...argv, 'name'])).stdout).toBe(
    'node/node-a\nnode/node-b\nservice/kube-system/kube-dns\npod/kube-system/coredns-1\nconfigmap/kube-system/coredns\ndeployment/kube-system/coredns\n',
  )
  expect((await srcip([...argv, 'table', '--no-headers'])).stdout.split('\n')[0]).toMatch(/^Node +2 +from files$/)
})

test('5,000 Ingresses of a real size stay below 150 MB', {timeout: 120_000}, async () => {
  const server = await new FakeApiServer().start()
  try {
    for (const {group, versions, plural, kind, builtIn} of snapshotKinds)
      if (builtIn) server.kinds.set(`${group}/${versions[0]}/${plural}`, kind)
    server.objects.create('/v1/namespaces', {metadata: {name: 'kube-system'}})
    for (let index = 0; index < 5000; index++) server.objects.create('networking.k8s.io/v1/ingresses', ingress(index))
    const kubeconfig = join(folder, 'config')
    writeFileSync(kubeconfig, kubeconfigFor(server.url))
    const memory = join(folder, 'memory.mjs')
    writeFileSync(
      memory,
      `import {writeFileSync} from 'node:fs'\nprocess.on('exit', () => writeFileSync(${JSON.stringify(join(folder, 'rss'))}, String(process.resourceUsage().maxRSS)))\n`,
    )
    const file = join(folder, 'cluster.json')
    const {exitCode, stderr} = await srcip(['snapshot', '--kubeconfig', kubeconfig, '--output-file', file], {
      env: {NODE_OPTIONS: `--import=${memory}`},
    })
    expect({exitCode, stderr}).toEqual({exitCode: 0, stderr: expect.stringContaining('5001 objects of 2 kinds')})
    const megabytes = Number(readFileSync(join(folder, 'rss'), 'utf8')) / 1024
    console.log(
      `snapshot of 5,000 Ingresses: ${Math.round(megabytes)} MB, file of ${Math.round(statSync(file).size / 1024 / 1024)} MB`,
    )
    expect(megabytes).toBeGreaterThan(30)
    expect(megabytes).toBeLessThan(150)
  } finally {
    await server.kill()
  }
})

/** As cert-manager and a GitOps tool leave it: annotations, field owners, status. */
function ingress(index: number): {metadata: {name: string; namespace: string}} {
  const host = `shop-${index}.team-${index % 50}.example.org`
  const spec = {
    ingressClassName: 'nginx',
    rules: [
      {
        host,
        http: {
          paths: ['/', '/api', '/static'].map((path) => ({
            path,
            pathType: 'Prefix',
            backend: {service: {name: `web-${index}`, port: {number: 80}}},
          })),
        },
      },
    ],
    tls: [{hosts: [host], secretName: `shop-${index}-tls`}],
  }
  const annotations = {
    'cert-manager.io/cluster-issuer': 'letsencrypt',
    'nginx.ingress.kubernetes.io/proxy-body-size': '8m',
    'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({spec}),
  }
  const fieldsV1 = {
    'f:metadata': {'f:annotations': {'.': {}}},
    'f:spec': {'f:rules': {}, 'f:tls': {}, 'f:ingressClassName': {}},
  }
  const managedFields = ['kubectl-client-side-apply', 'nginx-ingress-controller', 'cert-manager'].map((manager) => ({
    manager,
    operation: 'Update',
    apiVersion: 'networking.k8s.io/v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1,
  }))
  return {
    metadata: {name: `shop-${index}`, namespace: `team-${index % 50}`, annotations, managedFields},
    spec,
    status: {loadBalancer: {ingress: [{ip: '203.0.113.10'}]}},
  } as {metadata: {name: string; namespace: string}}
}

function kubeconfigFor(server: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'fake',
    contexts: [{name: 'fake', context: {cluster: 'fake', user: 'nobody'}}],
    clusters: [{name: 'fake', cluster: {server}}],
    users: [{name: 'nobody', user: {}}],
  })
}
