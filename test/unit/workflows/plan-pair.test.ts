import {readFileSync} from 'node:fs'
import {describe, expect, test} from 'vitest'
import {SrcipError} from '../../../src/model/errors.ts'
import {planFault} from '../../../src/model/plan-check.ts'
import type {Plan} from '../../../src/model/plan.ts'
import {indexSnapshot, type SnapshotIndex} from '../../../src/model/snapshot.ts'
import {reverseStep} from '../../../src/workflows/engine/reverse.ts'
import {findPair, type PairFacts} from '../../../src/workflows/generic/pair-facts.ts'
import {pairParts} from '../../../src/workflows/generic/pair-parts.ts'
import type {Manifest} from '../../../src/workflows/generic/pair-steps.ts'
import {planPair} from '../../../src/workflows/generic/plan-pair.ts'
import {doctorCases, doctorObjects, snapshotOf} from '../../support/doctor-cases.ts'

const objects = JSON.parse(
  readFileSync(new URL('../../../charts/objects.json', import.meta.url), 'utf8'),
) as readonly Manifest[]
const image = `registry.example.org/srcip@sha256:${'3f'.repeat(32)}`
const settings = {
  image,
  dns: {namespace: 'dns-system', configMaps: ['rke2-coredns', 'custom']},
  pullSecrets: ['mirror'],
}

const planFor = (operation: 'enable' | 'disable', facts: PairFacts): Plan =>
  planPair(operation, facts, pairParts(objects, facts, settings), {
    ...{clusterUid: 'u', toolVersion: '0', inputs: {}, settleSeconds: 30, warnings: []},
    guard: {namespace: 'srcip', image, windowSeconds: 120},
  })

const find = (index: SnapshotIndex, operation: 'enable' | 'disable'): PairFacts | undefined => {
  try {
    return findPair(index, operation, undefined)
  } catch (error) {
    // whatever the cluster: a reason that a person can act on, and never a bug
    if (!(error instanceof SrcipError)) throw error
    expect(error.exitCode).toBe(32)
    expect(error.hints.length).toBeGreaterThan(0)
    return undefined
  }
}

const cases = Object.entries(doctorCases())
const pairs = cases.flatMap(([name, one]) => {
  const index = indexSnapshot(snapshotOf(doctorObjects(name, one), one.hidden))
  return (['enable', 'disable'] as const).flatMap((operation) => {
    const facts = find(index, operation)
    return facts === undefined ? [] : [{name, operation, facts}]
  })
})

test('some of the cases are pairs, most are refused with a reason', () => {
  expect(pairs.length).toBeGreaterThan(4)
  expect(pairs.length).toBeLessThan(cases.length)
})

describe.each(pairs)('$operation $name', ({operation, facts}) => {
  const plan = planFor(operation, facts)

  test('fits its schema, and is the same again', () => {
    expect(planFault(plan)).toBeUndefined()
    expect(planFor(operation, facts)).toEqual(plan)
  })

  test('every write has a way back, or says that it has none; nothing takes a namespace away', () => {
    for (const step of plan.steps) {
      if (step.operation.op === 'none') continue
      const back = reverseStep(step)
      // the guard is armed and told for the moment of the switch alone
      if (['confirm', 'guard-away'].includes(step.id)) continue
      expect(back === undefined ? step.reversible : false, step.id).toBe(false)
      for (const {operation: one} of [step, ...(back === undefined ? [] : [back])])
        if (one.op === 'delete') expect(one.objects.map(({object}) => object.kind)).not.toContain('Namespace')
    }
  })

  test('what is applied is ours by label, restricted, and names the image by digest', () => {
    const applied = plan.steps.flatMap((step) => (step.operation.op === 'apply' ? step.operation.manifests : []))
    for (const manifest of applied) {
      const {labels = {}} = manifest['metadata'] as {labels?: Record<string, string>}
      if (manifest['kind'] !== 'Namespace')
        expect(labels['srcip.dev/component']).toMatch(/^(?:proxy|endpoints|controller|guard)$/)
      const text = JSON.stringify(manifest)
      expect(text).not.toContain('registry.invalid')
      if (manifest['kind'] === 'Deployment' || manifest['kind'] === 'Job') expect(text).toContain(image)
    }
  })
})

test('B41: ports of TCP services are left alone by the instructions, and are no part of the switch', () => {
  const facts = pairs[0]!.facts
  const {service} = facts
  const plan = planFor('enable', {...facts, asks: false, service: {...service, others: [22, 5432]}})
  const gate = plan.steps.find(({id}) => id === 'balancer')
  if (gate !== undefined) expect(gate.instructions.join('\n')).toContain('leave ports 22, 5432 as they are')
  expect(plan.orders.flatMap(({cuts}) => cuts.map(({port}) => port))).not.toContain(22)
})

test('the controller may write the ConfigMaps of this cluster’s DNS and no others', () => {
  const facts = pairs[0]!.facts
  const roles = pairParts(objects, facts, settings).controller.filter(
    (one) => (one['metadata'] as {name: string}).name === 'srcip-dns',
  )
  for (const role of roles) expect((role['metadata'] as {namespace: string}).namespace).toBe('dns-system')
  expect(JSON.stringify(roles)).toContain('"resourceNames":["rke2-coredns","custom"]')
})
