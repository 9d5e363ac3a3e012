import {readFileSync} from 'node:fs'
import {afterEach, beforeAll, expect, test} from 'vitest'
import type {VerifyReport} from '../../src/model/verify.ts'
import {proxyObjects, rights} from '../../scripts/demo/product-objects.ts'
import {
  BED_PARTS,
  bedForSuite,
  describeWithParts,
  ingressFor,
  OUTSIDE,
  PRODUCT_IMAGE,
  until,
  type KubeObject,
} from './bed/index.ts'

const ingressMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {name: 'ingress-nginx-controller', namespace: 'ingress-nginx'},
}
const host = 'shop.example.org'

/** `whoami` as the application behind the ingress; it believes X-Forwarded-For of pods. */
function whoamiObjects(): KubeObject[] {
  const labels = {app: 'shop'}
  const container = {
    name: 'whoami',
    image: PRODUCT_IMAGE,
    args: ['whoami', '--trusted-cidr', '10.244.0.0/16'],
    ports: [{name: 'http', containerPort: 8080}],
    readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 2},
  }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {name: 'shop', namespace: 'shop', labels},
      spec: {
        replicas: 1,
        selector: {matchLabels: labels},
        template: {metadata: {labels}, spec: {containers: [container]}},
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {name: 'shop', namespace: 'shop', labels},
      spec: {selector: labels, ports: [{name: 'http', port: 80, targetPort: 'http'}]},
    },
  ]
}

await describeWithParts('verify', BED_PARTS, async () => {
  const current = await bedForSuite()
  const srcip = async (...args: string[]) => {
    const result = await current().cli(['kubectl', 'srcip', ...args], {timeout: 120_000})
    return {...result, report: JSON.parse(result.stdout || '{}') as VerifyReport}
  }
  const outside = (from: string, ...more: string[]) =>
    srcip(
      ...['verify', 'outside', '--url', `https://${host}/`, '--from-address', from],
      ...['--cacert', current().authority.cert, '-o', 'json', ...more],
    )
  const verdicts = ({checks}: VerifyReport) => Object.fromEntries(checks.map(({check, verdict}) => [check, verdict]))

  beforeAll(async () => {
    const bed = current()
    const pair = await bed.authority.issue('shop', {cn: host, names: [host, 'echo.example.org']})
    const encode = (file: string) => readFileSync(file).toString('base64')
    await bed.create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'shop'}},
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {name: 'tls', namespace: 'shop'},
        type: 'kubernetes.io/tls',
        data: {'tls.crt': encode(pair.cert), 'tls.key': encode(pair.key)},
      },
      ...whoamiObjects(),
      ingressFor('shop', 'shop', host, 'shop', 'tls'),
    )
    await bed.waitReady('shop')
    await until('the ingress serves the shop', 60, async () => {
      const {code} = await bed.client.exec([
        'curl',
        '-sSf',
        '-m',
        '5',
        '--cacert',
        bed.authority.cert,
        `https://${host}/`,
      ])
      return code === 0
    })
  })
  afterEach(async () => {
    await current().balancer.setSendProxy('v2')
    await current().api.patch(ingressMap, {data: {'use-proxy-protocol': 'true'}})
    await until('the way in works again', 30, async () => (await outside(OUTSIDE.laptop)).code === 0)
  })

  test('the backend sees who asks, and nobody can pretend to be another', async () => {
    const {code, report} = await outside(OUTSIDE.laptop, '--must-refuse', `${OUTSIDE.balancer}:81`, '--times', '2')
    expect(verdicts(report)).toEqual({
      address: 'held',
      'forged-x-forwarded-for': 'held',
      'forged-x-real-ip': 'held',
      'forged-forwarded': 'held',
      'forged-proxy-header': 'held',
      'must-refuse': 'held',
    })
    expect(report.checks.filter(({check}) => check === 'address')).toHaveLength(2)
    expect({code, exitCode: report.exitCode}).toEqual({code: 0, exitCode: 0})
  })

  test('without the PROXY protocol the backend sees the balancer: 22, and what it saw', async () => {
    await current().api.patch(ingressMap, {data: {'use-proxy-protocol': 'false'}})
    await current().balancer.setSendProxy('off')
    await until('the way in is plain', 30, async () => (await outside(OUTSIDE.balancer)).report.exitCode === 0)
    const {code, report} = await outside(OUTSIDE.laptop)
    expect(report.checks.find(({check}) => check === 'address')).toMatchObject({
      verdict: 'failed',
      seen: OUTSIDE.balancer,
      wanted: OUTSIDE.laptop,
    })
    expect(code).toBe(22)
  })

  test('a sender that is missing: every connection is cut, and 22 says so', async () => {
    await current().balancer.setSendProxy('off')
    await until('the way in is cut', 30, async () => (await outside(OUTSIDE.laptop)).code === 22)
    const {report} = await outside(OUTSIDE.laptop)
    expect(report.checks[0]).toMatchObject({check: 'address', verdict: 'failed', why: expect.stringContaining('TLS')})
  })

  test('nobody is there: 30', async () => {
    const {code} = await outside(OUTSIDE.laptop, '--address', '192.0.2.99', '--answer-timeout', '1s')
    expect(code).toBe(30)
  })

  const echoArguments = (image: string) => [
    ...['-n', 'shop', '--create-echo', '--host', 'echo.example.org', '--image', image],
    ...['--ingress-class', 'nginx', '--tls-secret', 'tls', '--yes'],
  ]
  const leftovers = async () =>
    (
      await current().cli([
        'kubectl',
        'get',
        'pods,services,ingresses',
        '-A',
        '-l',
        'srcip.dev/component=echo',
        '-o',
        'name',
      ])
    ).stdout

  test('--create-echo: an echo for the time of the test, gone afterwards', async () => {
    const {code, report, stderr} = await outside(OUTSIDE.laptop, ...echoArguments(PRODUCT_IMAGE))
    expect(
      report.checks.map(({check, verdict}) => `${check} ${verdict}`),
      `${stderr}${JSON.stringify(report.checks)}`,
    ).toEqual([
      'reachable held',
      'address held',
      'forged-x-forwarded-for held',
      'forged-x-real-ip held',
      'forged-forwarded held',
      'forged-proxy-header held',
    ])
    expect(code).toBe(0)
    expect(await leftovers()).toBe('')
  })

  test('--create-echo with a signal, or an image that cannot be had: gone all the same', async () => {
    const bed = current()
    const command = `kubectl srcip verify outside --url https://${host}/ --from-address ${OUTSIDE.laptop} --cacert ${bed.authority.cert} ${echoArguments('nowhere/at-all:1').join(' ')} & child=$!
      for i in $(seq 100); do kubectl get pods -A -l srcip.dev/component=echo -o name | grep -q . && break; sleep 0.1; done
      kill -INT $child; wait $child; echo "ended with $?"`
    const {stdout} = await bed.cli(['sh', '-c', command], {timeout: 60_000})
    expect(stdout).toContain('ended with 130')
    expect(await leftovers()).toBe('')
  })

  test(
    '--create-echo and kill -9: what is left is named by its label, and cleanup takes it out',
    {timeout: 120_000},
    async () => {
      const bed = current()
      const command = `setsid kubectl srcip verify outside --url https://${host}/ --from-address ${OUTSIDE.laptop} --cacert ${bed.authority.cert} ${echoArguments('nowhere/at-all:1').join(' ')} & child=$!
      for i in $(seq 100); do kubectl get ingresses -A -l srcip.dev/component=echo -o name | grep -q . && break; sleep 0.1; done
      kill -9 -$child`
      await bed.cli(['sh', '-c', command], {timeout: 60_000})
      expect(
        (await leftovers())
          .trim()
          .split('\n')
          .map((line) => line.split('/')[0])
          .toSorted(),
      ).toEqual([...['ingress.networking.k8s.io', 'pod', 'service']])
      const {code, stderr} = await bed.cli(['kubectl', 'srcip', 'cleanup', '--yes', '--settle', '0s'], {
        timeout: 90_000,
      })
      expect(code, stderr).toBe(0)
      // the bed has no garbage collector for owners: the Pod that held the other two is gone
      expect(await leftovers()).not.toContain('pod/')
    },
  )

  test('inside: every CoreDNS pod and the proxy, before and after the name is switched', async () => {
    const bed = current()
    await bed.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'srcip'}})
    for (const object of [...rights(), ...proxyObjects()]) await bed.api.apply(object)
    await bed.waitReady('srcip')
    const inside = () => srcip('verify', 'inside', host, '--cacert', bed.authority.cert, '-o', 'json')
    const before = await inside()
    expect(before.report.checks.filter(({check}) => check === 'dns')).toMatchObject([
      {verdict: 'failed', seen: OUTSIDE.balancer},
      {verdict: 'failed', seen: OUTSIDE.balancer},
    ])
    expect(before.code).toBe(22)
    const applied = await bed.cli(['kubectl', 'srcip', 'coredns', 'apply', '--host', host, '--yes'], {timeout: 240_000})
    expect(applied.code, applied.stderr).toBe(0)
    const after = await inside()
    expect(after.report.checks.map(({check, verdict}) => [check, verdict])).toEqual(
      expect.arrayContaining([
        ['dns', 'held'],
        ['connection', 'held'],
      ]),
    )
    expect(after.report.checks.filter(({verdict}) => verdict !== 'held')).toEqual([])
    expect(after.code).toBe(0)
  })
})
