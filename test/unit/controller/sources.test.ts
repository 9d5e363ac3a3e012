import {describe, expect, test} from 'vitest'
import {Conditions} from '../../../src/controller/reports.ts'
import {reportSource} from '../../../src/controller/source-reports.ts'
import {Sources} from '../../../src/controller/sources.ts'
import type {SourcesOptions} from '../../../src/controller/sources.ts'
import {KubeFailure} from '../../../src/kube/index.ts'
import type {KubeObject} from '../../../src/model/kubernetes.ts'
import type {Log, Reflector, ReflectorOptions, SourceStatus, StoredObject} from '../../../src/kube/index.ts'
import {ingress} from '../hosts/objects.ts'
import {VirtualClock} from './virtual-clock.ts'

/** A reflector that does what the test says. */
class HandReflector implements Reflector<unknown> {
  readonly store = new Map<string, StoredObject<unknown>>()
  readonly options: ReflectorOptions<unknown>
  status: SourceStatus = {state: 'syncing', everSynced: false, since: 0, lastSeen: 0}
  relists = 0

  constructor(options: ReflectorOptions<unknown>) {
    this.options = options
  }

  get resource() {
    return this.options.resource
  }

  get state() {
    return this.status.state
  }

  start(): void {}

  stop(): Promise<void> {
    return Promise.resolve()
  }

  relist(): Promise<void> {
    this.relists++
    return Promise.resolve()
  }

  waitForSync(): Promise<void> {
    return Promise.resolve()
  }

  become(status: Partial<SourceStatus>): void {
    this.status = {...this.status, ...status}
    this.options.onState?.(this.status)
  }

  put(object: unknown): void {
    const raw = object as KubeObject
    const key = `${raw.metadata.namespace ?? ''}/${raw.metadata.name}`
    const previous = this.store.get(key)
    const stored = {key, uid: key, resourceVersion: String(Math.random()), value: this.options.project(raw)}
    this.store.set(key, stored)
    this.options.onChange?.({
      type: previous === undefined ? 'add' : 'update',
      key,
      object: stored,
      ...(previous === undefined ? {} : {previous}),
      tombstone: false,
    })
  }

  drop(key: string, tombstone: boolean): void {
    const object = this.store.get(key)
    if (object === undefined) throw new Error(`no ${key}`)
    this.store.delete(key)
    this.options.onChange?.({type: 'delete', key, object, tombstone})
  }
}

const silent: Log = {debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined}

function setup(more: Partial<SourcesOptions> = {}) {
  const made = new Map<string, HandReflector>()
  const counts = {changes: 0}
  const sources = new Sources({
    client: {} as never,
    families: ['ingress', 'gateway'],
    proxies: undefined,
    proxyNamespace: 'srcip',
    relistMs: 3_600_000,
    clock: new VirtualClock(),
    random: () => 0,
    log: silent,
    onChange: () => counts.changes++,
    reflector: ((options: ReflectorOptions<unknown>) => {
      const reflector = new HandReflector(options)
      made.set(options.resource.plural, reflector)
      return reflector
    }) as never,
    ...more,
  })
  const of = (plural: string): HandReflector => {
    const reflector = made.get(plural)
    if (reflector === undefined) throw new Error(`${plural} is not watched`)
    return reflector
  }
  return {sources, made, of, counts}
}

describe('sources', () => {
  test('watches what is switched on, proxies by label in their namespace, with every served version', () => {
    const {made, of} = setup()
    expect([...made.keys()].sort()).toEqual([
      'clienttrafficpolicies',
      'gateways',
      'grpcroutes',
      'httproutes',
      'ingressclasses',
      'ingresses',
      'listenersets',
      'namespaces',
      'services',
      'tlsroutes',
    ])
    expect(of('services').options).toMatchObject({namespace: 'srcip', labelSelector: 'srcip.dev/component=proxy'})
    expect(of('tlsroutes').options.versions).toEqual(['v1', 'v1alpha3', 'v1alpha2'])
    const only = setup({families: ['ingress'], proxies: [{target: 'a/b'}]})
    expect([...only.made.keys()]).toEqual(['ingresses', 'ingressclasses'])
    expect(only.sources.proxies()).toEqual([{target: 'a/b'}])
  })

  test('is complete when every source is seen whole or confirmed absent; forbidden never is', () => {
    const {sources, made, of} = setup()
    for (const reflector of made.values()) reflector.become({state: 'synced', everSynced: true})
    of('tlsroutes').become({state: 'forbidden', everSynced: false})
    expect(sources.complete).toBe(false)
    of('tlsroutes').become({state: 'absent', everSynced: false})
    expect(sources.complete).toBe(true)
    of('ingresses').become({state: 'stale'})
    expect(sources.complete).toBe(true)
  })

  test('policies only narrow: without the right to read them nothing waits for them, and a relist leaves them out', async () => {
    const {sources, made, of} = setup()
    for (const reflector of made.values()) reflector.become({state: 'synced', everSynced: true})
    of('clienttrafficpolicies').become({state: 'forbidden', everSynced: false})
    expect(sources.complete).toBe(true)
    await sources.waitForSync(new AbortController().signal)
    await sources.relist(new AbortController().signal)
    expect(of('clienttrafficpolicies').relists).toBe(0)
    expect(of('httproutes').relists).toBe(1)
  })

  test('an update that changes no name wakes nobody, one that does wakes', () => {
    const {of, counts} = setup()
    of('ingresses').put(ingress({hosts: ['a.org']}))
    expect(counts.changes).toBe(1)
    of('ingresses').put(ingress({hosts: ['a.org'], annotations: {unrelated: 'x'}}))
    expect(counts.changes).toBe(1)
    of('ingresses').put(ingress({hosts: ['b.org']}))
    expect(counts.changes).toBe(2)
  })

  test('remembers what went missing by a list, until it comes back or is seen to go', () => {
    const {sources, of} = setup()
    of('ingresses').put(ingress({hosts: ['a.org']}))
    of('ingresses').drop('demo/web', true)
    expect(sources.lostByList('ingress/demo/web')).toBe(true)
    of('ingresses').put(ingress({hosts: ['a.org']}))
    expect(sources.lostByList('ingress/demo/web')).toBe(false)
    of('ingresses').drop('demo/web', false)
    expect(sources.lostByList('ingress/demo/web')).toBe(false)
  })

  test('a relist asks every source that is served, absent ones not', async () => {
    const {sources, of} = setup()
    of('tlsroutes').become({state: 'absent'})
    await sources.relist(new AbortController().signal)
    expect(of('tlsroutes').relists).toBe(0)
    expect(of('ingresses').relists).toBe(1)
  })

  test('proxies carry the annotations that say whom they serve', () => {
    const {sources, of} = setup()
    of('services').put({
      metadata: {
        name: 'p',
        namespace: 'srcip',
        labels: {'srcip.dev/component': 'proxy'},
        annotations: {'srcip.dev/ingress-classes': 'one, two', 'srcip.dev/feeds': 'edge/ingress'},
      },
      spec: {ports: [{port: 80}, {port: 443}]},
    })
    expect(sources.proxies()).toEqual([
      {target: 'srcip/p', feeds: 'edge/ingress', ingressClasses: ['one', 'two'], ports: [80, 443]},
    ])
  })
})

test('a source that is forbidden is said once, with the cause, and once when it is well again', () => {
  const events: string[] = []
  const lines: string[] = []
  const log = {...silent, warn: (line: string) => void lines.push(line), info: (line: string) => void lines.push(line)}
  const conditions = new Conditions(log, {emit: ({reason, note}) => void events.push(`${reason}: ${note}`)})
  const failure = new KubeFailure('may not list httproutes', {kind: 'status', code: 'Denied', status: 403})
  const at = (state: SourceStatus['state']): SourceStatus => ({
    state,
    everSynced: true,
    since: 0,
    lastSeen: 0,
    ...(state === 'forbidden' ? {failure} : {}),
  })
  let previous: SourceStatus | undefined
  for (const state of ['synced', 'forbidden', 'forbidden', 'synced'] as const) {
    reportSource('httproutes', at(state), previous, conditions, log)
    previous = at(state)
  }
  const note = 'source httproutes is forbidden: may not list httproutes; names that it gave stay published'
  expect(events).toEqual([`SourceForbidden: ${note}`])
  expect(lines).toEqual([note, 'source httproutes is synced again'])
})

test('a kind that the cluster does not serve is one line, no event and no warning; one that goes is a warning (B32)', () => {
  const said: string[] = []
  const note =
    (level: string) =>
    (line: string): void =>
      void said.push(`${level} ${line}`)
  const log = {debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error')}
  const conditions = new Conditions(log, {emit: ({reason}) => void said.push(`event ${reason}`)})
  const never: SourceStatus = {state: 'syncing', everSynced: false, since: 0, lastSeen: 0}
  const absent: SourceStatus = {...never, state: 'absent'}
  reportSource('httproutes', absent, never, conditions, log)
  reportSource('httproutes', absent, absent, conditions, log)
  expect(said.splice(0)).toEqual(['info source httproutes is not served by this cluster'])
  const seen: SourceStatus = {...never, state: 'synced', everSynced: true}
  reportSource('httproutes', {...seen, state: 'absent'}, seen, conditions, log)
  expect(said).toEqual(['warn source httproutes is not served any more; its names go'])
})
