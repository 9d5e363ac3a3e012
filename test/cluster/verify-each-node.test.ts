import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import type {DoctorReport} from '../../src/model/doctor.ts'
import type {VerifyReport} from '../../src/model/verify.ts'
import {
  describeWithParts,
  exposePod,
  KUBE_PROXY_PARTS,
  startKubeProxyNodes,
  until,
  type KubeProxyNodes,
} from './bed/index.ts'

const program = fileURLToPath(new URL('../../bin/run.js', import.meta.url))

await describeWithParts('verify --each-node through the real kube-proxy', KUBE_PROXY_PARTS, () => {
  describe.each(['nftables', 'iptables'] as const)('%s', (mode) => {
    let bed: KubeProxyNodes
    beforeAll(async () => {
      bed = await startKubeProxyNodes(mode)
      await bed.pod.start([process.execPath, program, 'whoami', '--http-port', '8080'])
      await exposePod(bed, {policy: 'Cluster', nodePort: 30_080})
      await exposePod(bed, {policy: 'Local', nodePort: 30_081})
    })
    afterAll(() => bed?.stop())

    const verify = async (nodePort: number, ...more: string[]) => {
      const {stdout, stderr, code} = await bed.client.exec(
        [
          ...[process.execPath, program, 'verify', 'outside', '--url', `http://shop.example.org:${nodePort}/`],
          ...['--from-address', bed.client.address, '--answer-timeout', '2s', '-o', 'json', ...more],
        ],
        {env: {PATH: process.env['PATH'] ?? '', HOME: '/run', KUBECONFIG: bed.control.kubeconfig('admin')}},
      )
      return {code, stderr, report: JSON.parse(stdout || '{}') as VerifyReport}
    }
    const addresses = ({checks}: VerifyReport) =>
      checks.filter(({check}) => check === 'address').map(({subject, verdict, seen}) => [subject, verdict, seen])
    const records = () => bed.nodes.flatMap(({address}) => ['--address', address])

    test('externalTrafficPolicy Cluster: both nodes answer, the pod sees a node', async () => {
      const {code, report} = await verify(30_080, ...records())
      const [a, b] = bed.nodes.map(({address}) => address)
      // On its own node the pod sees that node's side of the pod network, through the other node that one.
      expect(addresses(report)).toEqual([
        [a, 'failed', '10.244.11.1'],
        [b, 'failed', b],
      ])
      expect(code).toBe(22)
    })

    test('externalTrafficPolicy Local: a name with both records fails on every second connection', async () => {
      await until('the second node drops', 30, async () => (await verify(30_081, ...records())).code === 22)
      const {report} = await verify(30_081, ...records())
      const [a, b] = bed.nodes.map(({address}) => address)
      expect(addresses(report)).toEqual([
        [a, 'held', bed.client.address],
        [b, 'failed', undefined],
      ])
      expect(report.warnings).toEqual([
        '1 of 2 connections did not hold: some addresses or nodes differ from the others',
      ])
    })

    test('doctor predicted that share', async () => {
      const argv = [process.execPath, program, 'doctor', 'svc/echo-local', '-n', 'default', '-o', 'json']
      const env = {PATH: process.env['PATH'] ?? '', HOME: '/run', KUBECONFIG: bed.control.kubeconfig('admin')}
      const report = JSON.parse((await bed.client.exec(argv, {env})).stdout) as DoctorReport
      const [a, b] = bed.nodes.map(({address}) => address)
      expect(report.findings.find(({id}) => id === 'SRC031')?.title).toBe(
        `1 of 2 nodes drop connections: a DNS record for ${b} fails, 1 in 2 of the calls of a name that lists all`,
      )
      expect(report.paths[0]?.addresses.toSorted()).toEqual([a, b])
    })

    test('--each-node finds the nodes by itself', async () => {
      const {report} = await verify(30_081, '--address', bed.nodes[0]!.address, '--each-node')
      expect(addresses(report).map(([subject, verdict]) => `${String(subject)} ${String(verdict)}`)).toEqual([
        '172.18.0.11 held',
        'node/node-a 172.18.0.11 held',
        'node/node-b 172.18.0.12 failed',
      ])
    })
  })
})
