import {copyFileSync, readFileSync, statSync} from 'node:fs'
import {join} from 'node:path'
import {beforeAll, expect, test} from 'vitest'
import {parseAllDocuments} from 'yaml'
import type {DoctorReport} from '../../src/model/doctor.ts'
import {
  applicationObjects,
  BED_PARTS,
  bedForSuite,
  callerPod,
  describeWithParts,
  ingressFor,
  OUTSIDE,
  until,
  type KubeObject,
} from './bed/index.ts'

const ingressMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {name: 'ingress-nginx-controller', namespace: 'ingress-nginx'},
}

await describeWithParts('doctor with evidence', [...BED_PARTS, 'tcpdump'], async () => {
  const current = await bedForSuite({users: [{name: 'viewer'}], images: {'bed/tcpdump:1': {entrypoint: ['tcpdump']}}})
  const doctor = async (...args: string[]) => {
    const argv = ['kubectl', 'srcip', 'doctor', '-o', 'json', '--balancer-cidr', `${OUTSIDE.balancer}/32`, ...args]
    const {code, stdout, stderr} = await current().cli(argv, {timeout: 120_000})
    return {code, stderr, report: JSON.parse(stdout || '{}') as DoctorReport}
  }
  const curl = () => ['curl', '-sSf', '-m', '5', '--cacert', current().authority.cert, 'https://shop.example.org/']
  const ids = ({findings}: DoctorReport) => new Set(findings.map(({id}) => id))

  beforeAll(async () => {
    const bed = current()
    await bed.create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'shop'}},
      ...applicationObjects('shop', 'shop'),
      callerPod('shop', 'caller'),
      ingressFor('shop', 'shop', 'shop.example.org', 'shop'),
    )
    await bed.waitReady('shop')
    await until('the ingress serves the shop', 60, async () => (await bed.client.exec(curl())).code === 0)
  })

  test('the log shows the hairpin, and says from which pod', async () => {
    const bed = current()
    await bed.inPod('shop/caller', curl())
    await until('the log is written', 20, async () => ids((await doctor('--logs')).report).has('SRC101'))
    const {code, report} = await doctor('--logs', '--since', '5m')
    const found = report.findings.find(({id}) => id === 'SRC101')!
    expect(found.object).toMatch(/^pod\/ingress-nginx\/ingress-nginx-controller-/)
    expect(found.title).toContain('hairpin-tls from a pod on 443')
    expect(found.evidence[0]!.value).toContain(bed.pod('shop/caller').address)
    expect(code).toBe(22)
    expect(ids((await doctor('--logs', '--ignore', 'SRC101')).report).has('SRC101')).toBe(false)
  })

  test('a balancer that stops sending, and one that sends to an ingress that does not read', async () => {
    const bed = current()
    await bed.balancer.setSendProxy('off')
    await until('outside is refused', 20, async () => (await bed.client.exec(curl())).code !== 0)
    await until('the log shows it', 20, async () => ids((await doctor('--logs')).report).has('SRC102'))
    await bed.balancer.setSendProxy('v1')
    await bed.api.patch(ingressMap, {data: {'use-proxy-protocol': 'false'}})
    await until('the log shows it', 30, async () => {
      await bed.client.exec(['curl', '-s', '-m', '3', 'http://shop.example.org/'])
      return ids((await doctor('--logs')).report).has('SRC103')
    })
    await bed.balancer.setSendProxy('v2')
    await bed.api.patch(ingressMap, {data: {'use-proxy-protocol': 'true'}})
    await until('the way in works again', 30, async () => (await bed.client.exec(curl())).code === 0)
  })

  test.each(['v1', 'v2'] as const)('tcpdump on the ingress shows headers of %s from the balancer', async (version) => {
    const bed = current()
    await bed.balancer.setSendProxy(version)
    await until('the way in works', 30, async () => (await bed.client.exec(curl())).code === 0)
    const key = [...bed.pods.items.keys()].find((name) => name.startsWith('ingress-nginx/'))!
    const file = join(bed.folder, `${version}.pcap`)
    const dump = bed.inPod(
      key,
      ['tcpdump', '-i', 'eth0', '-n', '-U', '-Z', 'root', '-s', '384', '-c', '30', '-w', file, 'tcp port 443'],
      {
        timeout: 20_000,
      },
    )
    for (let call = 0; call < 8; call++) await bed.client.exec(curl())
    await bed.inPod('shop/caller', curl())
    await dump
    const copy = join(bed.laptop.folder, `${version}.pcap`)
    copyFileSync(file, copy)
    const {report} = await doctor('--capture-file', copy)
    const titles = report.findings.filter(({id}) => id === 'SRC110').map(({title}) => title)
    expect(titles).toContainEqual(
      expect.stringMatching(
        new RegExp(
          `^port 443: \\d+ connections? begins? with a PROXY header of version ${version[1]} from a balancer$`,
        ),
      ),
    )
  })

  test('a right to look and none to read logs: the pods are named as not seen', async () => {
    const bed = current()
    const rights = readFileSync(new URL('../../charts/srcip/files/doctor.yaml', import.meta.url), 'utf8')
    const roles = parseAllDocuments(rights).map((document) => document.toJS() as KubeObject)
    for (const role of roles.filter(({kind}) => kind === 'ClusterRole')) {
      await bed.api.apply(role)
      await bed.create({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: {name: `viewer-${role.metadata.name}`},
        roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role.metadata.name},
        subjects: [{apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'viewer'}],
      })
    }
    const {stdout} = await bed.cli(['kubectl', 'srcip', 'doctor', '--logs', '-o', 'json'], {user: 'viewer'})
    const report = JSON.parse(stdout) as DoctorReport
    expect(report.paths.length).toBeGreaterThan(0)
    expect(report.notSeen).toContainEqual(
      expect.objectContaining({verb: 'get', resource: expect.stringContaining('pods/log'), reason: 'denied'}),
    )
  })

  const capture = ['--capture', '--capture-image', 'bed/tcpdump:1', '--capture-time', '12s', '--yes']

  test('--capture: an ephemeral container sees the header of the balancer and the pod without one', async () => {
    const bed = current()
    await bed.balancer.setSendProxy('v2')
    await until('the way in works', 30, async () => (await bed.client.exec(curl())).code === 0)
    let isOver = false
    const file = join(bed.folder, 'saved.txt')
    const running = doctor(...capture, '--save', file).finally(() => (isOver = true))
    while (!isOver) {
      await bed.client.exec(curl())
      await bed.inPod('shop/caller', curl())
    }
    const {report, stderr} = await running
    const titles = report.findings.filter(({id}) => id === 'SRC110').map(({title}) => title)
    expect(titles, stderr).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^port 443: \d+ connections? begins? with a PROXY header of version 2 from a balancer$/),
        expect.stringMatching(/^port 443: \d+ connections? begins? with TLS, without a PROXY header from a pod$/),
      ]),
    )
    expect(JSON.stringify(report)).not.toMatch(/curl|shop\.example\.org\r/)
    // what was kept says the same from the file, to nobody but its owner, and is never written over
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const saved = await doctor('--capture-file', file)
    expect(saved.report.findings.filter(({id}) => id === 'SRC110').length).toBeGreaterThan(1)
    expect((await doctor(...capture, '--save', file)).stderr).toContain('it is there already')
  })

  test(
    '--capture and a signal, and kill -9: the container ends by itself within its time',
    {timeout: 90_000},
    async () => {
      const bed = current()
      for (const [signal, ended] of [
        ['INT', '130'],
        ['TERM', '143'],
        ['9', '137'],
      ] as const) {
        const command = `kubectl srcip doctor ${capture.join(' ')} >/dev/null 2>&1 & child=$!; sleep 4; kill -${signal} $child; wait $child; echo "ended with $?"`
        expect((await bed.cli(['sh', '-c', command], {timeout: 60_000})).stdout).toContain(`ended with ${ended}`)
      }
      const running = async () => {
        const pods = await bed.api.list<KubeObject & {status?: {ephemeralContainerStatuses?: {state: object}[]}}>(
          '/api/v1/namespaces/ingress-nginx/pods',
        )
        return pods
          .flatMap(({status}) => status?.ephemeralContainerStatuses ?? [])
          .filter(({state}) => !('terminated' in state)).length
      }
      await until('no capture runs any more', 40, async () => (await running()) === 0)
    },
  )

  test('--capture asks first, and Pod Security may refuse it', async () => {
    const bed = current()
    const asked = await doctor(...capture.slice(0, -1))
    expect(asked.code).toBe(2)
    expect(asked.stderr).toContain('It stays there, ended, until the Pod is replaced')
    const namespace = {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'ingress-nginx'}}
    await bed.api.patch(namespace, {metadata: {labels: {'pod-security.kubernetes.io/enforce': 'baseline'}}})
    const refused = await doctor(...capture)
    await bed.api.patch(namespace, {metadata: {labels: {'pod-security.kubernetes.io/enforce': null}}})
    expect(refused.code).toBe(31)
    expect(refused.stderr).toMatch(/the capture container was refused: .*violates PodSecurity/)
    expect(refused.stderr).toContain('--capture-file FILE')
  })

  test('a capture that is not there', async () => {
    const {report, stderr} = await doctor('--capture-file', '/nowhere')
    expect(report).toMatchObject({kind: 'Error', exitCode: 2})
    expect(stderr).toContain('cannot read /nowhere: there is no such file')
  })
})
