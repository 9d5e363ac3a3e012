import {execFile} from 'node:child_process'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {API_SERVER_PARTS} from '../bed/index.ts'
import {describeWithParts} from '../bed/suite.ts'
import type {CorednsPlan} from '../../../src/model/coredns-plan.ts'
import type {StatusReport} from '../../../src/model/status.ts'
import {installGatewayKinds} from './gateway-kinds.ts'
import {ingress, startLightCluster} from './light-cluster.ts'
import type {LightCluster} from './light-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

const group = '/apis/gateway.networking.k8s.io/v1/namespaces/demo'
const program = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))

await describeWithParts('what run writes is what coredns plan and status want', API_SERVER_PARTS, () => {
  let cluster: LightCluster
  beforeAll(async () => {
    cluster = await startLightCluster()
  })
  afterAll(() => cluster?.stop())

  /** What a command prints as JSON, whatever its exit code. */
  async function document<T>(...argv: string[]): Promise<T> {
    const env = {...process.env, KUBECONFIG: cluster.api.kubeconfig}
    const run = promisify(execFile)(process.execPath, [program, ...argv, '-o', 'json'], {env})
    const {stdout, stderr} = await run.catch((error: {stdout: string; stderr: string}) => error)
    if (stdout === '') throw new Error(stderr)
    return JSON.parse(stdout) as T
  }
  const leftOut = ({warnings}: {warnings: readonly string[]}) =>
    warnings.filter((text) => text.includes(' is left out: ')).toSorted()
  const plan = async () => await document<CorednsPlan>('coredns', 'plan')
  const namesOf = ({hosts}: CorednsPlan) => [...new Set(hosts.map(({name}) => name))].toSorted()

  test(
    'without the Gateway API, and with its names; what is left out has its reason in both',
    {timeout: 120_000},
    async () => {
      await cluster.admin.create(ingress('shop', ['shop.example.org', 'old.example.org']))
      await cluster.admin.create(ingress('off', ['off.example.org']))
      await cluster.admin.patch(ingress('off', []), {metadata: {annotations: {'srcip.dev/exclude': 'true'}}})
      expect(namesOf(await plan())).toEqual(['old.example.org', 'shop.example.org'])

      await installGatewayKinds(cluster.admin)
      const apiVersion = 'gateway.networking.k8s.io/v1'
      const listeners = [{name: 'http', port: 80, protocol: 'HTTP', hostname: '*.example.net'}]
      await cluster.admin.request('POST', `${group}/gateways`, {
        ...{apiVersion, kind: 'Gateway', metadata: {namespace: 'demo', name: 'edge'}},
        spec: {gatewayClassName: 'edge', listeners},
      })
      await cluster.admin.request('POST', `${group}/httproutes`, {
        ...{apiVersion, kind: 'HTTPRoute', metadata: {namespace: 'demo', name: 'wiki'}},
        spec: {parentRefs: [{name: 'edge'}], hostnames: ['wiki.example.net', 'wiki.elsewhere.org']},
      })
      const names = ['old.example.org', 'shop.example.org', 'wiki.example.net']
      const run = new RunProcess(runOptions({kube: {kubeconfig: cluster.kubeconfig}}), {POD_NAME: 'srcip-0'})
      try {
        await expect.poll(() => cluster.names(), {timeout: 60_000}).toEqual(names)
        const planned = await plan()
        expect(namesOf(planned)).toEqual(names)
        expect(planned.edits).toEqual([])
        expect(leftOut(planned)).toEqual([
          'off.example.org (ingress/demo/off) is left out: annotation srcip.dev/exclude is "true"',
          expect.stringMatching(/^wiki\.elsewhere\.org \(httproute\/demo\/wiki\) is left out: /),
        ])
        const status = await document<StatusReport>('status')
        expect(leftOut(status)).toEqual(leftOut(planned))
        expect(status.hosts).toEqual({wanted: 3, written: 3, refused: 0, excluded: 2})
        const rows = status.rows.filter(({detail}) => detail.startsWith('left out'))
        expect(rows.map(({object, state}) => `${object} ${state}`).toSorted()).toEqual([
          'off.example.org off',
          'wiki.elsewhere.org off',
        ])
        expect(status.rows.find(({row}) => row === 'drift')).toMatchObject({state: 'ok'})
      } finally {
        await run.stop()
      }
    },
  )

  test('B38: a --target that does not exist is refused, and what was meant is named', async () => {
    const planned = await document<CorednsPlan>(
      'coredns',
      'plan',
      '--target',
      'demo/srcip-proxy',
      '--host',
      'a.example.org',
    )
    expect(planned.warnings).toContain('service/demo/srcip-proxy does not exist; did you mean srcip/srcip-proxy?')
    expect(planned.refused.map(({code}) => code)).toContain('TargetNotFound')
    expect(planned.edits).toEqual([])
  })
})
