import {expect, test} from 'vitest'
import type {DoneWrite} from '../../../src/cluster-dns/types.ts'
import {standingAgain} from '../../../src/controller/dns-output.ts'

const write = (key: string, before: string, after: string, resourceVersion: string) =>
  ({namespace: 'kube-system', configMap: 'coredns', key, before, after, uid: 'u', resourceVersion}) as DoneWrite

test('a text that stands again can be put back from the version that the way back made', () => {
  const done = [write('Corefile', 'zero', 'one', '10')]
  const undone = [{write: write('Corefile', 'one', 'two', '14'), restored: true}]
  expect(standingAgain(done, undone)[0]?.resourceVersion).toBe('14')
})

test('an edit between the two writes keeps the old version, so that putting back fails instead of taking it along', () => {
  const done = [write('Corefile', 'zero', 'one', '10')]
  const edited = [{write: write('Corefile', 'one with an edit', 'two', '14'), restored: true}]
  expect(standingAgain(done, edited)[0]?.resourceVersion).toBe('10')
  const failed = [{write: write('Corefile', 'one', 'two', '12'), restored: false}]
  expect(standingAgain(done, failed)[0]?.resourceVersion).toBe('10')
  expect(standingAgain([write('other', 'a', 'b', '11')], failed)[0]?.resourceVersion).toBe('11')
})
