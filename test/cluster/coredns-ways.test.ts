import {beforeAll, expect, test} from 'vitest'
import {
  BED_PARTS,
  bedForSuite,
  describeWithParts,
  kubeadmCorefile,
  until,
  type Bed,
  type KubeObject,
} from './bed/index.ts'

const proxyAddress = '10.96.5.5'
const corednsMap = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
const deployment = {apiVersion: 'apps/v1', kind: 'Deployment', metadata: {name: 'coredns', namespace: 'kube-system'}}

const withImport = kubeadmCorefile('2s 1s').replace(
  '    loadbalance\n',
  '    loadbalance\n    import /etc/coredns/custom/*.override\n',
)
const withoutReload = withImport.replace(/^ *reload .*\n/m, '')

const coredns = (bed: Bed, ...argv: string[]) => bed.cli(['kubectl', 'srcip', 'coredns', ...argv])

async function dataOf(bed: Bed, name: string): Promise<Record<string, string> | undefined> {
  return (
    await bed.api.get<KubeObject & {data?: Record<string, string>}>(`/api/v1/namespaces/kube-system/configmaps/${name}`)
  ).data
}

const running = (bed: Bed) =>
  [...bed.pods.items.values()].filter(
    (pod) => pod.metadata.labels?.['k8s-app'] === 'kube-dns' && pod.metadata.deletionTimestamp === undefined,
  )

/** What every CoreDNS pod answers that is not on its way out. */
async function answers(bed: Bed, name: string): Promise<string[]> {
  const addresses = running(bed).map((pod) => bed.pod(`kube-system/${pod.metadata.name}`).address)
  return (await Promise.all(addresses.map(async (server) => (await bed.resolve(name, {server})).addresses))).flat()
}

await describeWithParts('coredns by import key and by restart, on real CoreDNS', BED_PARTS, async () => {
  const current = await bedForSuite({coredns: ['1.14.7', '1.14.7'], ingress: 'none', corefile: withImport})

  beforeAll(async () => {
    const bed = current()
    await bed.create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'srcip'}},
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {name: 'srcip-proxy', namespace: 'srcip'},
        spec: {clusterIP: proxyAddress, selector: {app: 'x'}, ports: [{port: 443}]},
      },
    )
    const before = running(bed).map((pod) => pod.metadata.name)
    const {spec} = await bed.api.get<
      KubeObject & {spec: {template: {spec: {containers: {volumeMounts: object[]}[]; volumes: object[]}}}}
    >('/apis/apps/v1/namespaces/kube-system/deployments/coredns')
    const [container] = spec.template.spec.containers
    // as k3s, AKS and others mount it: optional, so that it need not exist
    await bed.api.patch(deployment, {
      spec: {
        template: {
          spec: {
            containers: [
              {
                ...container,
                volumeMounts: [
                  ...(container?.volumeMounts ?? []),
                  {name: 'custom', mountPath: '/etc/coredns/custom', readOnly: true},
                ],
              },
            ],
            volumes: [
              ...spec.template.spec.volumes,
              {name: 'custom', configMap: {name: 'coredns-custom', optional: true}},
            ],
          },
        },
      },
    })
    await until('the rollout is over', 60, () => {
      const pods = running(bed)
      return (
        pods.length === 2 &&
        pods.every(
          (pod) =>
            !before.includes(pod.metadata.name) &&
            pod.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'),
        )
      )
    })
  })

  test('a key of coredns-custom, created and proved; the Corefile keeps its version; clean takes the key out', async () => {
    const bed = current()
    const version = async () =>
      (await bed.api.get('/api/v1/namespaces/kube-system/configmaps/coredns')).metadata.resourceVersion
    const before = await version()
    const applied = await coredns(bed, 'apply', '--host', 'shop.example.org', '--mode', 'import', '--yes', '-o', 'json')
    expect(applied.code, applied.stderr).toBe(0)
    expect(JSON.parse(applied.stdout)).toMatchObject({
      outcome: 'proved',
      plan: {edits: [{source: 'configmap/kube-system/coredns-custom', key: 'srcip.override'}]},
    })
    expect(await answers(bed, 'shop.example.org')).toEqual([proxyAddress, proxyAddress])
    expect(Object.keys((await dataOf(bed, 'coredns-custom')) ?? {})).toEqual(['srcip.override'])
    expect((await coredns(bed, 'lint')).code).toBe(0)
    const cleaned = await coredns(bed, 'clean', '--yes')
    expect(cleaned.code, cleaned.stderr).toBe(0)
    expect(await dataOf(bed, 'coredns-custom')).toBeUndefined()
    expect(await answers(bed, 'shop.example.org')).not.toContain(proxyAddress)
    expect(await version()).toBe(before)
  })

  test('without the plugin reload: refused, and with --restart-coredns the restart is proved too (B15)', async () => {
    const bed = current()
    await bed.api.patch(corednsMap, {data: {Corefile: withoutReload}})
    const refused = await coredns(bed, 'apply', '--host', 'shop.example.org', '--yes')
    expect({code: refused.code, stdout: refused.stdout}).toEqual({code: 32, stdout: ''})
    expect(refused.stderr).toMatch(/reload is not loaded.*kubectl -n kube-system rollout restart deployment\/coredns/)
    expect(await dataOf(bed, 'coredns-custom')).toBeUndefined()
    const before = running(bed).map((pod) => pod.metadata.name)
    const applied = await coredns(
      bed,
      'apply',
      '--host',
      'shop.example.org',
      '--restart-coredns',
      '--yes',
      '-o',
      'json',
    )
    expect(applied.code, applied.stderr).toBe(0)
    const {pods} = JSON.parse(applied.stdout) as {pods: {name: string; verdict: string}[]}
    expect(pods).toHaveLength(2)
    for (const pod of pods) expect([pod.verdict, before.includes(pod.name)]).toEqual(['done', false])
    expect(await answers(bed, 'shop.example.org')).toEqual([proxyAddress, proxyAddress])
  })
})
