import {expect, test} from 'vitest'
import type {ProxyService} from '../../../src/hosts/index.ts'
import {resources} from '../../../src/kube/index.ts'
import type {KubeClient, Log} from '../../../src/kube/index.ts'
import type {KubeObject} from '../../../src/model/kubernetes.ts'
import {PortCheck} from '../../../src/controller/port-check.ts'
import {Conditions} from '../../../src/controller/reports.ts'
import {refusal} from '../../support/scripted-client.ts'
import {settle, VirtualClock} from './virtual-clock.ts'

const ingress = (...ports: object[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {namespace: 'edge', name: 'ingress'},
  spec: {ports},
})
const http = {port: 80, protocol: 'TCP'}
const https = {port: 443}

function setup(first: KubeObject | undefined) {
  const clock = new VirtualClock()
  const rig = {
    clock,
    service: first as KubeObject | Error | undefined,
    proxies: [{target: 'srcip/p', feeds: 'edge/ingress', ports: [80, 443]}] as ProxyService[],
    asked: [] as string[],
    lines: [] as string[],
    events: [] as string[],
    missing: [] as number[],
  }
  const say = (message: string): void => void rig.lines.push(message)
  const log: Log = {debug: () => undefined, info: say, warn: say, error: say}
  const find: KubeClient['find'] = (resource, {namespace, name}) => {
    expect(resource).toBe(resources.services)
    rig.asked.push(`${namespace ?? ''}/${name}`)
    return rig.service instanceof Error ? Promise.reject(rig.service) : Promise.resolve(rig.service as never)
  }
  const check = new PortCheck({
    client: {find},
    proxies: () => rig.proxies,
    clock,
    random: () => 0.5,
    log,
    conditions: new Conditions(log, {
      emit: ({reason, note, regarding}) =>
        void rig.events.push(`${reason} ${regarding?.namespace}/${regarding?.name}: ${note}`),
    }),
    onCompared: ({missing}) => void rig.missing.push(missing),
  })
  return Object.assign(rig, {check})
}

test('a port that the proxy lacks is named once, in an event, the metric and the notes, until it is there', async () => {
  const rig = setup(ingress(http, https, {port: 22, protocol: 'TCP'}, {port: 443, protocol: 'UDP'}))
  await rig.check.compare()
  await rig.check.compare()
  const note = 'lacks port 22 of service/edge/ingress: dead for pods under the names that lead to the proxy'
  expect(rig.events).toEqual([`PortsMissing srcip/p: proxy Service srcip/p: ${note}`])
  expect(rig.check.notes).toEqual(new Map([['srcip/p', note]]))
  expect(rig.missing).toEqual([1, 1])
  rig.proxies = [{target: 'srcip/p', feeds: 'edge/ingress', ports: [22, 80, 443]}]
  await rig.check.compare()
  expect(rig.missing).toEqual([1, 1, 0])
  expect(rig.lines).toContain('proxy Service srcip/p has all ports of service/edge/ingress')
  expect(rig.check.notes).toEqual(new Map([['srcip/p', 'all ports of service/edge/ingress']]))
})

test('an ingress Service that does not exist is named; a right that is missing is said once and held against nobody', async () => {
  const rig = setup(undefined)
  await rig.check.compare()
  expect(rig.events).toEqual([
    'FeedsNotFound srcip/p: proxy Service srcip/p: service/edge/ingress, which it stands for, does not exist',
  ])
  rig.service = refusal(403, {reason: 'Forbidden', message: 'User "srcip" cannot get resource "services"'})
  await rig.check.compare()
  await rig.check.compare()
  expect(rig.lines.filter((line) => line.includes('not compared'))).toHaveLength(1)
  expect(rig.check.notes.get('srcip/p')).toMatch(
    /^not compared with service\/edge\/ingress: user "srcip" is not allowed/,
  )
  expect(rig.events).toHaveLength(1)
})

test('it looks when proxies or ports change, not when names do, and every ten minutes; stopped, no more', async () => {
  const rig = setup(ingress(http))
  for (let change = 0; change < 100; change++) rig.check.mark()
  await rig.clock.advance(1000)
  expect(rig.asked).toEqual(['edge/ingress'])
  rig.check.mark()
  await rig.clock.advance(599_000)
  expect(rig.asked).toHaveLength(1)
  await rig.clock.advance(1000)
  expect(rig.asked).toHaveLength(2)
  rig.proxies = [...rig.proxies, {target: 'srcip/lan', feeds: 'lan/ingress', ports: [80]}, {target: 'srcip/all'}]
  rig.check.mark()
  await rig.clock.advance(1000)
  expect(rig.asked.slice(2).toSorted()).toEqual(['edge/ingress', 'lan/ingress'])
  rig.proxies = []
  rig.check.mark()
  await rig.clock.advance(1000)
  expect(rig.check.notes.size).toBe(0)
  await rig.check.stop()
  rig.proxies = [{target: 'srcip/p', feeds: 'edge/ingress', ports: []}]
  rig.check.mark()
  await settle()
  expect(rig.clock.pending).toBe(0)
})
