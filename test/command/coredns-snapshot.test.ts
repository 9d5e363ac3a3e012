import {mkdtempSync, readdirSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {stringify} from 'yaml'
import {record} from '../../src/model/fields.ts'
import type {Snapshot} from '../../src/model/snapshot.ts'
import {srcip} from '../support/srcip.ts'

const cases = fileURLToPath(new URL('../cases/doctor/', import.meta.url))
const proxy = `apiVersion: v1
kind: Service
metadata: {name: srcip-proxy, namespace: srcip, labels: {srcip.dev/component: proxy}}
spec: {type: ClusterIP, clusterIP: 10.96.0.77, clusterIPs: [10.96.0.77], selector: {app: proxy}, ports: [{port: 80}, {port: 443}]}
`
let folder: string
let file: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'srcip-coredns-'))
  file = join(folder, 'cluster.json')
  writeFileSync(join(folder, 'proxy.yaml'), proxy)
  const inputs = ['base.yaml', 'parts/ingress-nginx.yaml'].map((name) => join(cases, name))
  const argv = [...inputs, join(folder, 'proxy.yaml')].flatMap((path) => ['-f', path])
  const {exitCode} = await srcip(['snapshot', ...argv, '--output-file', file])
  expect(exitCode).toBe(0)
})
afterAll(() => rmSync(folder, {recursive: true, force: true}))

const snapshot = async (): Promise<Snapshot> => JSON.parse((await srcip(['snapshot', '-f', file])).stdout) as Snapshot

test('plan takes names, Corefile and target from the snapshot, and asks no cluster', async () => {
  const {exitCode, stdout, stderr} = await srcip(['coredns', 'plan', '-f', file, '-o', 'diff'])
  expect({exitCode, stderr}).toEqual({exitCode: 0, stderr: ''})
  expect(stdout).toContain('+    rewrite name exact app.example.org srcip-proxy.srcip.svc.cluster.local.')
  expect(stdout).toContain('configmap/kube-system/coredns')
})

test('apply prints the new Corefile, clean takes the lines out of it again, nothing is written', async () => {
  const before = readdirSync(folder)
  const applied = await srcip(['coredns', 'apply', '-f', file])
  expect(applied.exitCode).toBe(0)
  expect(applied.stdout).toMatch(/^\.:53 \{\n {4}# === BEGIN srcip/)
  const data = (await snapshot()).objects.find(
    ({kind, metadata}) => kind === 'ConfigMap' && metadata.name === 'coredns',
  )
  const corefile = String(record(data?.['data'])['Corefile'])
  const cleaned = await srcip(['coredns', 'clean', '-f', '-'], {input: applied.stdout})
  expect(cleaned.stdout).toBe(corefile)
  const inPlace = await srcip(['coredns', 'apply', '-f', file, '--in-place'])
  expect(inPlace.exitCode).toBe(2)
  expect(inPlace.stderr).toContain('is a snapshot')
  expect(readdirSync(folder)).toEqual(before)
})

test('show, lint and query; YAML and stdin are taken, too', async () => {
  const yaml = stringify(await snapshot(), {sortMapEntries: true})
  const show = await srcip(['coredns', 'show', '-f', '-'], {input: yaml})
  expect(show.stdout).toContain('source: configmap/kube-system/coredns key Corefile')
  expect((await srcip(['coredns', 'lint', '-f', file])).exitCode).toBe(0)
  const query = await srcip(['coredns', 'query', 'kubernetes.default.svc.cluster.local', '-f', file, '-o', 'json'])
  expect({exitCode: query.exitCode, pods: JSON.parse(query.stdout).pods}).toEqual({exitCode: 0, pods: []})
})

test('what was denied when the snapshot was taken is denied again', async () => {
  const given = await snapshot()
  const reading = {
    group: 'networking.k8s.io',
    version: 'v1',
    resource: 'ingresses',
    kind: 'Ingress',
    verb: 'list',
    state: 'denied',
  }
  const objects = given.objects.filter(({kind}) => kind !== 'Ingress')
  const {exitCode, stderr} = await srcip(['coredns', 'plan', '-f', '-'], {
    input: JSON.stringify({...given, objects, readings: [reading]}),
  })
  expect(exitCode).toBe(31)
  expect(stderr).toContain('stdin does not hold ingresses.networking.k8s.io: reading that was denied')
})

test('a Corefile whose secret was left out is not planned on', async () => {
  const {exitCode, stderr} = await srcip(['coredns', 'plan', '-f', '-'], {
    input: JSON.stringify(await snapshot()).replace('errors\\n', 'route53 x.:Z {\\n aws_access_key A B\\n }\\n'),
  })
  expect(exitCode).toBe(32)
  expect(stderr).toContain('held a secret, which the snapshot left out')
})

test('a Corefile is still a Corefile, whatever it speaks of', async () => {
  const corefile = '.:53 {\n    # "kind": "Snapshot"\n    forward . 192.0.2.53\n    reload\n}\n'
  const {exitCode, stdout} = await srcip(['coredns', 'lint', '-f', '-'], {input: corefile})
  expect({exitCode, stdout}).toEqual({exitCode: 0, stdout: 'no findings\n'})
})
