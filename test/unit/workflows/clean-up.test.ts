import fc from 'fast-check'
import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import Value from 'typebox/value'
import type {CorednsResult} from '../../../src/model/coredns-plan.ts'
import {apiVersion} from '../../../src/model/documents.ts'
import {SrcipError} from '../../../src/model/errors.ts'
import {cleanupReportSchema} from '../../../src/model/schemas/cleanup-report.ts'
import {cleanUp, type CleanupOptions} from '../../../src/workflows/cleanup/clean-up.ts'
import type {CleanupPorts, OwnObject, Traces} from '../../../src/workflows/cleanup/ports.ts'
import {deletionOrder} from '../../../src/workflows/cleanup/rules.ts'

const edit = {source: 'configmap/kube-system/coredns', key: 'Corefile', offset: 7, removed: 'x\n', inserted: ''}

function dnsResult(outcome: CorednsResult['outcome'], exitCode = 0): CorednsResult {
  const planned = outcome === 'already-so' ? [] : [edit]
  return {
    apiVersion,
    kind: 'CorednsResult',
    operation: 'clean',
    dryRun: 'none',
    outcome,
    plan: {
      apiVersion,
      kind: 'CorednsPlan',
      sources: [],
      targets: [],
      coredns: {version: '1.14.7', clusterDomain: 'cluster.local'},
      hosts: [],
      refused: [],
      edits: planned,
      hash: {sha512: null, unknown: []},
      exitCode: 0,
      changed: planned.length > 0,
      warnings: [],
    },
    pods: [{namespace: 'kube-system', name: 'coredns-a', verdict: 'done'}],
    exitCode,
    changed: outcome === 'proved' || outcome === 'unproved',
    warnings: [],
  }
}

const object = (text: string, component: string, more: Partial<OwnObject> = {}): OwnObject => ({
  text,
  component,
  ...more,
})
const controller = object('deployment/srcip/srcip', 'controller', {replicas: 1})
const proxy = object('deployment/srcip/srcip-proxy', 'proxy', {replicas: 2})
const account = object('serviceaccount/srcip/srcip', 'controller')
const empty: Traces = {objects: [], dns: dnsResult('already-so'), lines: 0, served: []}
const lines: Traces = {...empty, dns: dnsResult('planned'), lines: 3}
const lease = {text: 'lease/kube-system/srcip-dns'}

/** Runs the workflow over ports that write down what they were asked for. `looks` are what `find` gives, the last for ever. */
async function run(
  looks: Traces[],
  setting: {options?: Partial<CleanupOptions>; dns?: CorednsResult; taken?: boolean; asleep?: () => void} = {},
) {
  const calls: string[] = []
  const ports: CleanupPorts = {
    find: async () => (calls.push('find'), looks.length > 1 ? (looks.shift() as Traces) : (looks[0] as Traces)),
    stop: async ({text}, dryRun) => void calls.push(`stop ${text}${dryRun === 'server' ? ' dry' : ''}`),
    lock: async (waitMs) => {
      calls.push(`lock ${waitMs}`)
      if (setting.taken === true) throw new SrcipError('Conflict', 'held by srcip-0')
      return {signal: new AbortController().signal, release: async () => void calls.push('release')}
    },
    cleanDns: async (dryRun) => (
      calls.push(dryRun === 'server' ? 'dns dry' : 'dns'),
      setting.dns ?? dnsResult('proved')
    ),
    sleep: async (ms, signal) => {
      calls.push(`sleep ${ms}`)
      setting.asleep?.()
      signal.throwIfAborted()
    },
    remove: async ({text}, dryRun) => {
      calls.push(`remove ${text}${dryRun === 'server' ? ' dry' : ''}`)
      return {object: text, state: dryRun === 'server' ? 'planned' : 'deleted'}
    },
    removeLease: async () => (calls.push('remove lease'), {object: lease.text, state: 'deleted'}),
  }
  const options: CleanupOptions = {
    dryRun: 'none',
    dnsOnly: false,
    stopRun: false,
    evenInUse: false,
    settleMs: 30_000,
    leaseWaitMs: 60_000,
    approve: async () => (calls.push('ask'), true),
    signal: new AbortController().signal,
    onEvent: () => {},
    ...setting.options,
  }
  const report = await cleanUp(ports, options).catch((error: unknown) => error as SrcipError)
  if (!(report instanceof Error)) {
    expect([...Value.Errors(cleanupReportSchema, report)]).toEqual([])
    return {calls, report, error: undefined}
  }
  return {calls, report: undefined, error: report}
}

describe('cleanup', () => {
  it('stops, locks, cleans DNS, settles, deletes, takes the Lease away, looks again: in this order', async () => {
    const traces = {...lines, objects: [account, proxy, controller], lease}
    const {calls, report} = await run([traces, empty], {options: {stopRun: true}})
    expect(calls).toEqual([
      'find',
      'ask',
      'stop deployment/srcip/srcip',
      'lock 60000',
      'dns',
      'sleep 30000',
      'remove deployment/srcip/srcip',
      'remove deployment/srcip/srcip-proxy',
      'remove serviceaccount/srcip/srcip',
      'release',
      'remove lease',
      'find',
    ])
    expect(report).toMatchObject({outcome: 'clean', exitCode: 0, changed: true, stopped: ['deployment/srcip/srcip']})
  })

  it('nothing of ours: nothing is locked, asked or written', async () => {
    const {calls, report} = await run([empty])
    expect(calls).toEqual(['find'])
    expect(report).toMatchObject({outcome: 'already-clean', exitCode: 0, changed: false})
  })

  it('a live holder of the Lease is found before anything is asked or written', async () => {
    const {calls, error} = await run([{...lines, lease: {...lease, holder: 'srcip-0'}}], {taken: true})
    expect(error).toMatchObject({exitCode: 33})
    expect(calls).toEqual(['find', 'lock 0'])
  })

  it('objects of a Helm release: 32, with what to type, before any write', async () => {
    const owned = {...proxy, release: 'srcip/edge'}
    const {calls, error} = await run([{...lines, objects: [owned]}])
    expect(error).toMatchObject({exitCode: 32, hints: expect.arrayContaining(['helm uninstall edge -n srcip'])})
    expect(calls).toEqual(['find'])
  })

  it('with --dns-only objects stay, also those of Helm, and caches settle while a proxy is there', async () => {
    const owned = {...proxy, release: 'srcip/edge'}
    const {calls, report} = await run([{...lines, objects: [owned], lease}, empty], {options: {dnsOnly: true}})
    expect(calls).toEqual(['find', 'lock 0', 'ask', 'dns', 'sleep 30000', 'release', 'remove lease', 'find'])
    expect(report).toMatchObject({outcome: 'clean', objects: [{object: lease.text, state: 'deleted'}]})
  })

  it('what publishes names to ExternalDNS goes before caches settle, also with --dns-only', async () => {
    const record = object('dnsendpoint/srcip/srcip', 'controller', {isRecord: true})
    const traces = {...empty, objects: [account, proxy, record]}
    const {calls} = await run([traces, empty])
    expect(calls).toEqual([
      'find',
      'lock 0',
      'ask',
      'dns',
      'remove dnsendpoint/srcip/srcip',
      'sleep 30000',
      'remove deployment/srcip/srcip-proxy',
      'remove serviceaccount/srcip/srcip',
      'release',
      'remove lease',
      'find',
    ])
    const owned = {...traces, objects: [{...proxy, release: 'srcip/edge'}, record]}
    const only = await run([owned, empty], {options: {dnsOnly: true}})
    expect(only.calls.filter((call) => call.startsWith('remove'))).toEqual([
      'remove dnsendpoint/srcip/srcip',
      'remove lease',
    ])
    const left = await run([owned, owned], {options: {dnsOnly: true}})
    expect(left.report).toMatchObject({outcome: 'clean'})
    const late = await run(
      [
        {...owned, objects: [], lines: 3, dns: dnsResult('planned')},
        {...owned, dns: empty.dns},
      ],
      {
        options: {dnsOnly: true},
      },
    )
    expect(late.report).toMatchObject({outcome: 'left', exitCode: 23})
  })

  it('names that are served now: 32 unless that is meant', async () => {
    const traces = {...lines, served: [{service: 'srcip/srcip-proxy', readyEndpoints: 2}]}
    const refused = await run([traces])
    expect(refused.error).toMatchObject({exitCode: 32, object: 'service/srcip/srcip-proxy'})
    const meant = await run([traces, empty], {options: {evenInUse: true}})
    expect(meant.report).toMatchObject({outcome: 'clean'})
  })

  it.each([
    ['unproved', 21, 'unproved'],
    ['already-so', 21, 'unproved'],
    ['undone', 22, 'undone'],
    ['left', 23, 'left'],
    ['already-so', 22, 'left'],
  ] as const)('DNS that is %s (%i) deletes nothing and gives the lock back', async (outcome, exitCode, shown) => {
    const {calls, report} = await run([{...lines, objects: [proxy]}], {dns: dnsResult(outcome, exitCode)})
    expect(report).toMatchObject({outcome: shown, exitCode})
    expect(calls.filter((call) => call.startsWith('remove'))).toEqual([])
    expect(calls.at(-1)).toBe('release')
  })

  it('DNS that is refused is passed on, nothing else happens', async () => {
    const {calls, report} = await run([{...lines, dns: dnsResult('refused', 32)}])
    expect(report).toMatchObject({outcome: 'refused', exitCode: 32, changed: false})
    expect(calls).toEqual(['find'])
  })

  it('what is there again at the second look is left, exit 23', async () => {
    const again = await run([lines, lines])
    expect(again.report).toMatchObject({outcome: 'left', exitCode: 23, warnings: [expect.stringContaining('again')]})
    const appeared = await run([lines, {...empty, objects: [proxy]}])
    expect(appeared.report).toMatchObject({
      outcome: 'left',
      exitCode: 23,
      objects: expect.arrayContaining([expect.objectContaining({object: proxy.text, state: 'left'})]),
    })
  })

  it('dry runs: client writes nothing and names the holder, server checks each write', async () => {
    const traces = {...lines, objects: [controller, proxy], lease: {...lease, holder: 'srcip-0'}}
    const client = await run([traces], {options: {dryRun: 'client'}})
    expect(client.calls).toEqual(['find'])
    expect(client.report).toMatchObject({outcome: 'planned', warnings: [expect.stringContaining('srcip-0')]})
    const server = await run([traces], {options: {dryRun: 'server', stopRun: true}, dns: dnsResult('planned')})
    expect(server.calls).toEqual([
      'find',
      'stop deployment/srcip/srcip dry',
      'dns dry',
      'remove deployment/srcip/srcip dry',
      'remove deployment/srcip/srcip-proxy dry',
    ])
  })

  it('a no to the question writes nothing', async () => {
    const {calls, error} = await run([lines], {options: {approve: async () => false}})
    expect(error).toMatchObject({exitCode: 2})
    expect(calls).toEqual(['find', 'lock 0', 'release'])
  })

  it('interrupted: the reason of the signal, and the lock is given back', async () => {
    const reason = new SrcipError('Interrupted', 'SIGTERM', {exitCode: 143})
    const {error} = await run([lines], {options: {signal: AbortSignal.abort(reason), approve: async () => false}})
    expect(error).toBe(reason)
  })

  it('interrupted while caches settle: the proxies stay, and the next run settles anew before they go (B57)', async () => {
    const reason = new SrcipError('Interrupted', 'SIGINT', {exitCode: 130})
    const end = new AbortController()
    const first = await run([{...lines, objects: [proxy]}], {
      options: {signal: end.signal},
      asleep: () => end.abort(reason),
    })
    expect(first.error).toBe(reason)
    expect(first.calls).toEqual(['find', 'lock 0', 'ask', 'dns', 'sleep 30000', 'release'])
    const second = await run([{...empty, objects: [proxy], lease}, empty], {dns: dnsResult('already-so')})
    expect(second.report).toMatchObject({outcome: 'clean', exitCode: 0})
    expect(second.calls.slice(3)).toEqual([
      'dns',
      'sleep 30000',
      'remove deployment/srcip/srcip-proxy',
      'release',
      'remove lease',
      'find',
    ])
  })
})

it('the order of deletion does not depend on the order of finding, and accounts go last', () => {
  const texts = ['deployment/a/x', 'service/a/x', 'role/a/x', 'serviceaccount/a/x', 'clusterrole/x', 'job/a/x']
  const some = fc.array(fc.record({text: fc.constantFrom(...texts), component: fc.constantFrom('controller', 'proxy')}))
  fc.assert(
    fc.property(some, (objects) => {
      const order = deletionOrder(objects)
      expect(deletionOrder(objects.toReversed())).toEqual(order)
      const kinds = order.map((each) => each.text.split('/')[0])
      const [lastOther, firstAccount] = [
        kinds.findLastIndex((kind) => kind !== 'serviceaccount'),
        kinds.indexOf('serviceaccount'),
      ]
      expect(firstAccount === -1 || firstAccount > lastOther).toBe(true)
    }),
  )
})

it('docs/cleanup.md names every kind that is looked through', async () => {
  const {ownKinds} = await import('../../../src/cli/cleanup/own-objects.ts')
  const text = readFileSync(new URL('../../../docs/cleanup.md', import.meta.url), 'utf8')
  for (const {kind} of ownKinds) expect(text).toContain(kind)
  for (const {kind} of ownKinds) expect(['Namespace', 'Secret', 'CustomResourceDefinition']).not.toContain(kind)
})
