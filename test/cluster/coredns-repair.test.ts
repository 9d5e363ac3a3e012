import {readFileSync} from 'node:fs'
import {beforeAll, expect, test} from 'vitest'
import {reloadHash} from '../../plugins/coredns/src/index.ts'
import {BED_PARTS, bedForSuite, describeWithParts, until, type Bed, type KubeObject} from './bed/index.ts'

const proxyAddress = '10.96.5.5'
const host = 'app.example.org'
const map = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
const lines = {
  'a-block-twice': [2, 4, 6, 8],
  'b-end-missing': [2],
  'c-begin-missing': [3],
  'd-end-before-begin': [2, 4],
  'e-spans-two-blocks': [2, 7],
} as const

/** The case's text with what a pod needs to be Ready and to resolve the proxy, below every line that matters. */
function corefileOf(name: string): string {
  const text = readFileSync(new URL(`../cases/B08-damaged-markers/Corefile.${name}`, import.meta.url), 'utf8')
  const own = '    health\n    ready\n    kubernetes cluster.local\n    prometheus :9153\n'
  return text
    .replace('    forward . /etc/resolv.conf\n', `${own}    forward . /etc/resolv.conf\n`)
    .replace('reload\n', 'reload 2s 1s\n')
}

/** A word as a shell reads it. */
const quoted = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`

await describeWithParts('B08: damaged markers on a live cluster', BED_PARTS, async () => {
  const current = await bedForSuite({ingress: 'none'})
  const coredns = (...argv: string[]) => current().cli(['kubectl', 'srcip', 'coredns', ...argv])
  /** The same at a terminal, where somebody types an answer. What is printed comes on stdout, both streams in one. */
  const atTerminal = (answer: string, ...argv: string[]) => {
    const line = ['kubectl', 'srcip', 'coredns', ...argv].map(quoted).join(' ')
    return current().cli(['script', '-qefc', line, '/dev/null'], {input: answer, env: {TERM: 'dumb'}})
  }
  const read = (bed: Bed) =>
    bed.api.get<KubeObject & {data: {Corefile: string}}>('/api/v1/namespaces/kube-system/configmaps/coredns')
  const answers = async (bed: Bed) =>
    await Promise.all(
      bed.corednsPods().map(async (pod) => (await bed.resolve(host, {server: pod.address})).addresses.join()),
    )
  const settle = async (bed: Bed, corefile: string) => {
    await bed.api.patch(map, {data: {Corefile: corefile}})
    const {value} = reloadHash(Buffer.from(corefile))
    await until('every CoreDNS runs the text', 60, async () => {
      const pods = [...bed.pods.items.values()].filter((pod) => pod.metadata.labels?.['k8s-app'] === 'kube-dns')
      const logs = await Promise.all(pods.map((pod) => bed.podLog(`kube-system/${pod.metadata.name}`)))
      return logs.every((log) => [...log.matchAll(/SHA512 = (\w+)/g)].at(-1)?.[1] === value)
    })
  }

  beforeAll(async () => {
    await current().create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'srcip'}},
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {name: 'srcip-proxy', namespace: 'srcip'},
        spec: {clusterIP: proxyAddress, selector: {app: 'x'}, ports: [{port: 443}]},
      },
    )
  })

  test.each(Object.entries(lines))(
    '%s: apply and clean refuse with every line; --repair shows its diff and writes nothing where nobody can be asked',
    {timeout: 120_000},
    async (name, markers) => {
      const bed = current()
      await bed.api.patch(map, {data: {Corefile: corefileOf(name)}})
      const before = await read(bed)
      for (const argv of [['apply', '--host', host], ['clean']]) {
        const refused = await coredns(...argv, '--yes')
        expect({code: refused.code, stdout: refused.stdout}, refused.stderr).toEqual({code: 32, stdout: ''})
        for (const line of markers) expect(refused.stderr).toMatch(new RegExp(`lines? .*\\b${line}\\b`))
        expect(refused.stderr).toContain('--repair')
        const asked = await coredns(...argv, '--repair')
        expect({code: asked.code, stdout: asked.stdout}, asked.stderr).toEqual({code: 2, stdout: ''})
        expect(asked.stderr).toMatch(/^[-+] .*# === (?:BEGIN|END) srcip/m)
        expect(asked.stderr).toContain('cannot ask for confirmation here: write this to cluster DNS?')
      }
      expect((await read(bed)).metadata.resourceVersion).toBe(before.metadata.resourceVersion)
    },
  )

  test(
    'at a terminal: no is no, yes writes what the diff showed, proved; then clean works',
    {timeout: 180_000},
    async () => {
      const bed = current()
      const damaged = corefileOf('a-block-twice')
      await settle(bed, damaged)
      const version = (await read(bed)).metadata.resourceVersion
      const no = await atTerminal('n\n', 'apply', '--host', host, '--repair')
      expect(no.code, no.stdout).toBe(2)
      expect(no.stdout).toMatch(/-.*rewrite name api\.example\.org[^]*write this to cluster DNS\? \[y\/N\]/)
      expect(no.stdout).toContain('nothing was written')
      expect((await read(bed)).metadata.resourceVersion).toBe(version)

      const yes = await atTerminal('y\n', 'apply', '--host', host, '--repair')
      expect(yes.code, yes.stdout).toBe(0)
      expect(yes.stdout).toContain('[y/N]')
      const repaired = (await read(bed)).data.Corefile
      expect(repaired.match(/^.*srcip.*$/gm)?.map((line) => line.trim())).toEqual([
        '# === BEGIN srcip (managed by kubectl srcip, do not edit) ===',
        `rewrite name exact ${host} srcip-proxy.srcip.svc.cluster.local.`,
        '# === END srcip ===',
      ])
      expect(await answers(bed)).toEqual([proxyAddress, proxyAddress])

      const cleaned = await coredns('clean', '--yes')
      expect(cleaned.code, cleaned.stderr).toBe(0)
      const bare = damaged
        .split('\n')
        .filter((line) => !line.includes('srcip'))
        .join('\n')
      expect((await read(bed)).data.Corefile).toBe(bare)
    },
  )
})
