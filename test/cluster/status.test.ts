import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {beforeAll, expect, test} from 'vitest'
import {proxyObjects, rights, runObjects} from '../../scripts/demo/product-objects.ts'
import type {StatusReport} from '../../src/model/status.ts'
import {applicationObjects, BED_PARTS, bedForSuite, describeWithParts, ingressFor, until} from './bed/index.ts'

await describeWithParts('status', BED_PARTS, async () => {
  const current = await bedForSuite()
  const status = async () => {
    const {code, stdout, stderr} = await current().cli(['kubectl', 'srcip', 'status', '-o', 'json'], {timeout: 60_000})
    return {code, stderr, report: JSON.parse(stdout || '{}') as StatusReport}
  }
  const rows = ({rows: all}: StatusReport, row: string) => all.filter((one) => one.row === row)

  beforeAll(async () => {
    const bed = current()
    const pair = await bed.authority.issue('shop', {cn: 'shop.example.org', names: ['shop.example.org']})
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
      ...applicationObjects('shop', 'shop'),
      ingressFor('shop', 'shop', 'shop.example.org', 'shop', 'tls'),
    )
    await bed.waitReady('shop')
  })

  test('off, on, and in trouble', async () => {
    const bed = current()
    const before = await status()
    expect({code: before.code, state: before.report.state}).toEqual({code: 0, state: 'off'})
    expect(before.report.hosts).toMatchObject({written: 0})

    await bed.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'srcip'}})
    for (const object of [...rights(), ...proxyObjects(), ...runObjects()]) await bed.api.apply(object)
    await bed.waitReady('srcip')
    await until('status says on', 120, async () => {
      const {code, report} = await status()
      return code === 0 && report.state === 'on' && rows(report, 'coredns').every(({state}) => state === 'ok')
    })
    const on = await status()
    expect(on.report.hosts).toMatchObject({wanted: 1, written: 1, refused: 0})
    expect(rows(on.report, 'coredns').map(({detail}) => detail)).toEqual([
      'answers right; runs the present configuration',
      'answers right; runs the present configuration',
    ])
    expect(rows(on.report, 'lease')[0]).toMatchObject({state: 'ok', detail: expect.stringContaining('held by')})
    expect(on.report.since).toMatch(/^20\d\d-/)

    // The same from a file: what only a cluster can answer is unknown.
    const file = join(bed.laptop.folder, 'snapshot.json')
    await bed.cli(['kubectl', 'srcip', 'snapshot', '--output-file', file])
    const saved = await bed.cli(['kubectl', 'srcip', 'status', '-f', file, '-o', 'json'])
    const report = JSON.parse(saved.stdout) as StatusReport
    expect({code: saved.code, state: report.state}, saved.stderr).toEqual({code: 21, state: 'on'})
    expect(report.hosts).toMatchObject({wanted: 1, written: 1})
    expect(report.rows.filter(({state}) => state === 'unknown').map(({row}) => row)).toEqual([
      'lease',
      'coredns',
      'coredns',
    ])

    // An ingress that no longer takes the header: the proxy says so, and status repeats its cause.
    await bed.api.patch(
      {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'ingress-nginx-controller', namespace: 'ingress-nginx'}},
      {data: {'use-proxy-protocol': 'false'}},
    )
    await until('the proxy is not ready', 60, async () => (await status()).code === 22)
    const trouble = await status()
    expect(rows(trouble.report, 'proxy')).toMatchObject([
      {
        state: 'error',
        detail: expect.stringMatching(
          /^0 of 1 ready; srcip-proxy-\S+: port-80 header-refused: .+ PROXY protocol is off there/,
        ),
      },
    ])
    const {stdout} = await bed.cli(['kubectl', 'srcip', 'status'])
    expect(stdout).toMatch(/^srcip is on since .*: 1 of 1 names written\nROW +OBJECT +STATE +DETAIL\n/)
  })
})
