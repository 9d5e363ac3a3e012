import {expect, test} from 'vitest'
import {Value} from 'typebox/value'
import type {TSchema} from 'typebox'
import {corednsPlanSchema} from '../../src/model/schemas/coredns-plan.ts'
import {corednsLintSchema, corednsQuerySchema, corednsShowSchema} from '../../src/model/schemas/coredns-view.ts'
import {errorSchema} from '../../src/model/schemas/error.ts'
import {snapshotSchema} from '../../src/model/schemas/snapshot.ts'
import {versionSchema} from '../../src/model/schemas/version.ts'
import {srcip} from '../support/srcip.ts'

const good = `.:53 {
    errors
    rewrite name exact old.example.org web.shop.svc.cluster.local.
    kubernetes cluster.local in-addr.arpa
    forward . 192.0.2.53
    cache 30
    reload
}
`
const broken = `.:53 {
    erors
`
const manifests = `apiVersion: v1
kind: Service
metadata: {name: edge, namespace: demo}
spec: {type: LoadBalancer}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: demo}
`
const hosts = ['--host', 'shop.example.org', '--host', 'old.example.org', '--host', 'bad_name']

const runs: readonly [argv: readonly string[], input: string, schema: TSchema, kind: string][] = [
  [['version'], '', versionSchema, 'Version'],
  [['snapshot', '-f', '-'], manifests, snapshotSchema, 'Snapshot'],
  [['snapshot', '-f', '-', '--anonymise'], manifests, snapshotSchema, 'Snapshot'],
  [['snapshot', '-f', '-'], '', errorSchema, 'Error'],
  [['coredns', 'plan', '-f', '-', ...hosts], good, corednsPlanSchema, 'CorednsPlan'],
  [['coredns', 'plan', '-f', '-', ...hosts], broken, corednsPlanSchema, 'CorednsPlan'],
  [['coredns', 'clean', '-f', '-'], good, corednsPlanSchema, 'CorednsPlan'],
  [['coredns', 'show', '-f', '-'], good, corednsShowSchema, 'CorednsShow'],
  [['coredns', 'lint', '-f', '-'], good, corednsLintSchema, 'CorednsLint'],
  [['coredns', 'lint', '-f', '-'], broken, corednsLintSchema, 'CorednsLint'],
  [['coredns', 'query', 'shop.example.org', '-f', '-'], good, corednsQuerySchema, 'CorednsQuery'],
  [['coredns', 'query', 'old.example.org', '-f', '-'], good, corednsQuerySchema, 'CorednsQuery'],
  [['coredns', 'plan', '-f', '-'], good, errorSchema, 'Error'],
  [['coredns', 'show'], '', errorSchema, 'Error'],
]

test.each(runs)(
  '%j prints one document of its schema, and its exit code is in it',
  async (argv, input, schema, kind) => {
    const {exitCode, stdout} = await srcip([...argv, '-o', 'json'], {input})
    const document = JSON.parse(stdout) as {kind: string; exitCode: number}
    expect(document).toMatchObject({kind, exitCode})
    expect(Value.Errors(schema, document)).toEqual([])
  },
)

test('a schema refuses what is not in it', () => {
  const document = {
    apiVersion: 'srcip.dev/v1alpha1',
    kind: 'Error',
    code: 'Usage',
    message: 'm',
    hints: [],
    exitCode: 2,
    changed: false,
    warnings: [],
  }
  expect(Value.Check(errorSchema, document)).toBe(true)
  expect(Value.Check(errorSchema, {...document, surprise: 1})).toBe(false)
  expect(Value.Check(errorSchema, {...document, exitCode: '2'})).toBe(false)
})
