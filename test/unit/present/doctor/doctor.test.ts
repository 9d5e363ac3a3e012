import fc from 'fast-check'
import {expect, test} from 'vitest'
import type {DoctorReport, Hop, WayIn} from '../../../../src/model/doctor.ts'
import {doctorView} from '../../../../src/present/doctor/doctor.ts'
import {doctorHtml} from '../../../../src/present/doctor/html.ts'
import {doctorJunit} from '../../../../src/present/doctor/junit.ts'
import {doctorCases, doctorObjects, snapshotOf} from '../../../support/doctor-cases.ts'
import {indexSnapshot} from '../../../../src/model/snapshot.ts'
import {diagnose} from '../../../../src/diagnosis/diagnose.ts'

const hop = (at: Hop['at'], name: string, source: Hop['source'], lost = false): Hop => ({
  at,
  name,
  source,
  how: 'a setting',
  grade: 'source',
  lost,
})
const way = (port: number, more: Partial<WayIn> = {}): WayIn => ({
  id: `edge/ingress:${port}/TCP`,
  namespace: 'edge',
  service: 'ingress',
  port,
  protocol: 'TCP',
  addresses: ['203.0.113.60'],
  hosts: ['shop.example.org'],
  platform: {balancer: 'metallb', receiver: 'ingress-nginx', cni: 'calico'},
  hops: [
    hop('client', 'client', 'kept'),
    hop('balancer', 'metallb', 'kept'),
    hop('node', '2 nodes', 'kept'),
    hop('service-proxy', 'kube-proxy', 'translated', true),
    hop('receiver', 'ingress-nginx', 'kept'),
    hop('application', 'application', 'unknown'),
  ],
  lostAt: 'service-proxy',
  outside: {verdict: 'broken', why: 'the node hides the client', grade: 'source', sources: []},
  hairpin: {verdict: 'depends', why: 'nobody can tell', grade: 'unconfirmed', check: 'call it', sources: []},
  ...more,
})
const report = (paths: WayIn[], more: Partial<DoctorReport> = {}): DoctorReport => ({
  apiVersion: 'srcip.dev/v1alpha1',
  kind: 'DoctorReport',
  paths,
  findings: [],
  notSeen: [],
  exitCode: 22,
  changed: false,
  warnings: [],
  ...more,
})
const plain = {wide: false, headers: true, color: false, columns: undefined}

test('the picture of a way in', () => {
  expect(doctorView.table(report([way(80), way(443)]), plain)).toBe(`\
2 ways in; outside: 0 fine, 2 broken, 0 open; hairpin: 0 fine, 0 broken, 2 open

service/edge/ingress 80/TCP 443/TCP 203.0.113.60 shop.example.org
  client ─> balancer ─> node    ─> service    ─> receiver      ─> app
            metallb     2 nodes    kube-proxy    ingress-nginx
            kept        kept       ✗ lost        kept             ?
  outside  broken: the node hides the client
  hairpin  depends: nobody can tell
           settle it: call it
`)
})

test('a narrow terminal gets more rows, never a cut name', () => {
  const text = doctorView.table(report([way(80)]), {...plain, columns: 44})
  for (const line of text.split('\n').slice(1)) expect([...line].length).toBeLessThanOrEqual(44)
  for (const word of ['metallb', '2 nodes', 'kube-proxy', 'ingress-nginx', '✗ lost']) expect(text).toContain(word)
})

test('nothing of any test cluster is wider than 80 columns in the picture', () => {
  for (const [name, one] of Object.entries(doctorCases()).filter((_, index) => index % 4 === 0)) {
    const whole = diagnose(indexSnapshot(snapshotOf(doctorObjects(name, one))), {for: 'enable'})
    const text = doctorView.table({...whole, findings: [], notSeen: []}, plain)
    const wide = text
      .split('\n')
      .slice(1)
      .filter((line) => [...line].length > 80 && line.trim().includes(' '))
    expect(wide, name).toEqual([])
  }
})

test('no way in', () => {
  expect(doctorView.table(report([]), plain)).toMatch(/^no way in: /)
})

test('JUnit: broken fails, open is skipped, an error finding fails', () => {
  const finding = {
    id: 'SRC002',
    severity: 'error',
    title: 'a "title" <with> marks & \u0007',
    object: 'service/edge/ingress',
    evidence: [],
    remedies: [],
  } as const
  expect(
    doctorJunit(
      report([way(80), way(443, {outside: {verdict: 'fine', why: 'x', grade: 'source', sources: []}})], {
        findings: [finding],
      }),
    ),
  ).toBe(`\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="2" skipped="2">
  <testsuite name="kubectl srcip doctor" tests="5" failures="2" skipped="2">
    <testcase classname="edge/ingress:80/TCP" name="outside"><failure message="broken: the node hides the client"/></testcase>
    <testcase classname="edge/ingress:80/TCP" name="hairpin"><skipped message="depends: nobody can tell; settle it: call it"/></testcase>
    <testcase classname="edge/ingress:443/TCP" name="outside"/>
    <testcase classname="edge/ingress:443/TCP" name="hairpin"><skipped message="depends: nobody can tell; settle it: call it"/></testcase>
    <testcase classname="service/edge/ingress" name="SRC002 a &quot;title&quot; &lt;with&gt; marks &amp; \ufffd"><failure message="a &quot;title&quot; &lt;with&gt; marks &amp; \ufffd"/></testcase>
  </testsuite>
</testsuites>
`)
})

test('hostile names stay text in the HTML', () => {
  fc.assert(
    fc.property(fc.string({unit: 'binary'}), (name) => {
      const hostile = `${name}"><script>alert(1)</script><img src=http://x onerror='y'>`
      const html = doctorHtml(
        report(
          [way(80, {service: hostile, hosts: [hostile], hops: [{...hop('node', hostile, 'kept'), how: hostile}]})],
          {
            notSeen: [{verb: 'list', resource: hostile, reason: hostile}],
          },
        ),
      )
      expect(html).not.toMatch(/<(?:script|img)/)
      expect(html).not.toContain("onerror='y'")
    }),
  )
})
