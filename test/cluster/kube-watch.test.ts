import {setTimeout as wait} from 'node:timers/promises'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {createKubeClient, createLeaseLock, createReflector, loadKubeconfig, resources} from '../../src/kube/index.ts'
import type {KubeClient, Reflector, StoreChange} from '../../src/kube/index.ts'
import type {KubeObject} from '../../src/model/kubernetes.ts'
import {findProcess, kill, startAgain} from '../support/process-restart.ts'
import type {Restarted} from '../support/process-restart.ts'
import {API_SERVER_PARTS, startApiServer, type ApiServer} from './bed/index.ts'
import {describeWithParts} from './bed/suite.ts'

const ingress = (name: string, labels: Record<string, string> = {}): KubeObject => ({
  metadata: {namespace: 'default', name, labels},
  spec: {rules: [{host: `${name}.example.org`}], defaultBackend: {service: {name: 'x', port: {number: 80}}}},
})

const widgets = {group: 'example.org', version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true}
const widgetDefinition: KubeObject = {
  metadata: {name: 'widgets.example.org'},
  spec: {
    group: 'example.org',
    scope: 'Namespaced',
    names: {plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList'},
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {openAPIV3Schema: {type: 'object', 'x-kubernetes-preserve-unknown-fields': true}},
      },
    ],
  },
}

await describeWithParts('reflector and Lease on a real API server', [...API_SERVER_PARTS], () => {
  let api: ApiServer
  let client: KubeClient
  let again: Restarted | undefined
  const open: {stop(): Promise<void>}[] = []
  const clients: KubeClient[] = []

  async function connect(user?: string): Promise<KubeClient> {
    const kubeconfig = user === undefined ? api.kubeconfig : api.kubeconfigFor({user})
    const made = createKubeClient(await loadKubeconfig({kubeconfig}, {}), {env: {}, rate: 'unlimited'})
    clients.push(made)
    return made
  }

  interface Watched {
    readonly reflector: Reflector<string>
    readonly changes: string[]
    readonly lists: string[]
    readonly states: string[]
  }

  function watch(by: KubeClient, options: Partial<Parameters<typeof createReflector<string>>[0]> = {}): Watched {
    const changes: string[] = []
    const lists: string[] = []
    const states: string[] = []
    const reflector = createReflector<string>({
      client: by,
      resource: resources.ingresses,
      project: (object) => object.metadata.name,
      onChange: (change: StoreChange<string>) =>
        void changes.push(`${change.type} ${change.key}${change.tombstone ? ' tombstone' : ''}`),
      onState: ({state}) => void states.push(state),
      observer: {onList: (reason) => void lists.push(reason)},
      ...options,
    })
    reflector.start()
    open.push(reflector)
    return {reflector, changes, lists, states}
  }

  async function ready(): Promise<void> {
    await expect
      .poll(
        () =>
          client.request({path: '/readyz'}).then(
            () => true,
            () => false,
          ),
        {timeout: 60_000, interval: 250},
      )
      .toBe(true)
  }

  beforeAll(async () => {
    api = await startApiServer({users: [{name: 'watcher'}]})
    client = await connect()
  })
  afterAll(async () => {
    for (const one of open) await one.stop()
    for (const one of clients) one.close()
    again?.stop()
    await api?.stop()
  })

  test('starts with what is there, follows, and stops without a trace', async () => {
    await client.create(resources.ingresses, ingress('there'))
    const {reflector, changes, lists} = watch(client)
    await reflector.waitForSync()
    expect([...reflector.store.keys()]).toEqual(['default/there'])
    await client.create(resources.ingresses, ingress('new'))
    await client.mergePatch(resources.ingresses, {namespace: 'default', name: 'new'}, {metadata: {labels: {a: 'b'}}})
    await client.delete(resources.ingresses, {namespace: 'default', name: 'new'})
    await expect
      .poll(() => changes)
      .toEqual(['add default/there', 'add default/new', 'update default/new', 'delete default/new'])
    expect(lists).toEqual(['first'])
    await reflector.relist()
    expect(lists).toEqual(['first', 'requested'])
    await reflector.stop()
  })

  test('lists and watches where the server does not stream initial objects', async () => {
    const old = await startApiServer({arguments: ['--feature-gates=WatchList=false']})
    try {
      const by = createKubeClient(await loadKubeconfig({kubeconfig: old.kubeconfig}, {}), {env: {}})
      await by.create(resources.ingresses, ingress('listed'))
      const {reflector, lists, changes} = watch(by)
      await reflector.waitForSync()
      expect(lists).toEqual(['first', 'first'])
      await by.create(resources.ingresses, ingress('watched'))
      await expect.poll(() => changes).toEqual(['add default/listed', 'add default/watched'])
      await reflector.stop()
      by.close()
    } finally {
      await old.stop()
    }
  })

  test('fault 5: missing rights: forbidden, nothing lost; it heals', {timeout: 120_000}, async () => {
    const limited = await connect('watcher')
    const {reflector, states} = watch(limited)
    await expect.poll(() => reflector.state, {timeout: 10_000}).toBe('forbidden')
    await client.create(
      {
        group: 'rbac.authorization.k8s.io',
        version: 'v1',
        plural: 'clusterroles',
        kind: 'ClusterRole',
        namespaced: false,
      },
      {
        metadata: {name: 'watch-ingresses'},
        rules: [{apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs: ['list', 'watch']}],
      },
    )
    await client.create(
      {
        group: 'rbac.authorization.k8s.io',
        version: 'v1',
        plural: 'clusterrolebindings',
        kind: 'ClusterRoleBinding',
        namespaced: false,
      },
      {
        metadata: {name: 'watch-ingresses'},
        roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'watch-ingresses'},
        subjects: [{apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'watcher'}],
      },
    )
    await expect.poll(() => reflector.state, {timeout: 60_000, interval: 500}).toBe('synced')
    expect(states).toEqual(['forbidden', 'synced'])
    expect(reflector.status.failure).toBeUndefined()
  })

  test(
    'fault 6: a kind that is installed later appears, and one that is removed goes only when it is sure',
    {timeout: 180_000},
    async () => {
      const {reflector, states} = watch(client, {resource: widgets})
      await expect.poll(() => reflector.state, {timeout: 45_000, interval: 250}).toBe('absent')
      await client.create(resources.customResourceDefinitions, widgetDefinition)
      const define = async (): Promise<boolean> =>
        await client.create(widgets, {metadata: {namespace: 'default', name: 'one'}}).then(
          () => true,
          () => false,
        )
      await expect.poll(define, {timeout: 20_000}).toBe(true)
      await expect.poll(() => [...reflector.store.keys()], {timeout: 90_000, interval: 250}).toEqual(['default/one'])
      expect(states).toEqual(['absent', 'synced'])
    },
  )

  describe('the API server is killed and comes back', () => {
    test(
      'fault 1: the watch goes on from where it was, without a list; an old version is then 410',
      {timeout: 180_000},
      async () => {
        const {reflector, changes, lists, states} = watch(client)
        await reflector.waitForSync()
        const before = [...changes]
        const {pid, argv} = await findProcess('kube-apiserver', `--secure-port=${api.port}`)
        await kill(pid)
        await expect.poll(() => reflector.state, {timeout: 10_000}).toBe('stale')
        await wait(1500)
        again = startAgain(argv)
        await ready()
        await client.create(resources.ingresses, ingress('after-restart'))
        await expect
          .poll(() => changes.slice(before.length), {timeout: 70_000, interval: 250})
          .toEqual(['add default/after-restart'])
        expect(lists).toEqual(['first'])
        expect(states.slice(-2)).toEqual(['stale', 'synced'])
        const ancient = client.watch(resources.ingresses, {resourceVersion: '1', timeoutSeconds: 2})
        await expect(ancient[Symbol.asyncIterator]().next()).rejects.toMatchObject({
          kind: 'status',
          status: 410,
          reason: expect.stringMatching(/Expired|Gone/),
        })
      },
    )

    test(
      'fault 2: a list whose moment is compacted away between two pages is read again as a whole',
      {timeout: 120_000},
      async () => {
        for (let index = 0; index < 5; index += 1)
          await client.create(resources.ingresses, ingress(`paged-${index}`, {paged: 'yes'}))
        const server = await findProcess('kube-apiserver', `--secure-port=${api.port}`)
        const etcd = server.argv.find((argument) => argument.startsWith('--etcd-servers='))?.slice(15)
        const pages: number[] = []
        let restarted = false
        for await (const page of client.pages(resources.ingresses, {labelSelector: 'paged=yes', limit: 2})) {
          pages.push(page.items.length)
          restarted ||= page.restarted
          if (pages.length > 1) continue
          // etcd forgets the moment of the first page, and a new API server remembers nothing of it.
          const later = await client.create(resources.ingresses, ingress('paged-later', {paged: 'yes'}))
          const body = JSON.stringify({revision: later.metadata.resourceVersion, physical: true})
          const answer = await fetch(`${etcd}/v3/kv/compaction`, {method: 'POST', body})
          expect(answer.status).toBe(200)
          await kill(server.pid)
          again?.stop()
          again = startAgain(server.argv)
          await ready()
        }
        expect(restarted).toBe(true)
        expect(pages).toEqual([2, 6])
      },
    )

    test(
      'fault 2: what was deleted while nobody looked, and 410 on the way back, give tombstones after one list',
      {timeout: 180_000},
      async () => {
        await client.create(resources.ingresses, ingress('doomed'))
        // This reflector's way to the server can be cut, and its place in history made too old.
        let version: string | undefined
        let cut = false
        const cuttable: KubeClient = {
          ...client,
          watch: (resource, options = {}) => {
            const resume = cut && options.sendInitialEvents !== true
            return client.watch(resource, resume ? {...options, resourceVersion: version} : options)
          },
        }
        const {reflector, changes, lists} = watch(cuttable, {idleMs: 4000})
        await reflector.waitForSync()
        expect(reflector.store.has('default/doomed')).toBe(true)
        version = '1'
        cut = true
        await expect.poll(() => lists, {timeout: 30_000}).toEqual(['first', 'expired'])
        cut = false
        await client.delete(resources.ingresses, {namespace: 'default', name: 'doomed'})
        await expect.poll(() => changes.at(-1), {timeout: 20_000}).toMatch(/^delete default\/doomed/)
        expect(reflector.state).toBe('synced')
      },
    )
  })

  describe('Lease', () => {
    const lock = (identity: string, by: KubeClient) =>
      createLeaseLock({
        client: by,
        namespace: 'kube-system',
        name: 'srcip-dns',
        identity,
        durationSeconds: 4,
        renewDeadlineMs: 3000,
        retryMs: 500,
      })

    test('two contend: one holds, the other is refused with its name, then follows', {timeout: 60_000}, async () => {
      const one = lock('one', client)
      const two = lock('two', await connect())
      await one.acquire()
      await one.assertHeld()
      await expect(two.acquire()).rejects.toMatchObject({exitCode: 33, message: expect.stringContaining('held by one')})
      const waiting = two.acquire({waitMs: 20_000})
      await wait(1500)
      expect(two.held).toBe(false)
      await one.release()
      await waiting
      expect(two.held).toBe(true)
      const lease = await client.get<KubeObject & {spec: Record<string, unknown>}>(resources.leases, {
        namespace: 'kube-system',
        name: 'srcip-dns',
      })
      expect(lease.spec).toMatchObject({holderIdentity: 'two', leaseDurationSeconds: 4, leaseTransitions: 1})
      expect(lease.spec['renewTime']).toMatch(/\.\d{6}Z$/)
      await two.release()
      expect(await two.read()).toBeUndefined()
    })

    test(
      'a holder that dies without a word is followed once its record has stood still',
      {timeout: 60_000},
      async () => {
        const mortal = await connect()
        const dead = lock('dead', mortal)
        await dead.acquire()
        const lost = new Promise((resolve) =>
          dead.acquire().then((signal) => signal.addEventListener('abort', resolve)),
        )
        mortal.close()
        const heir = lock('heir', client)
        await heir.acquire({waitMs: 0})
        expect(heir.held).toBe(true)
        await lost
        expect(dead.held).toBe(false)
        await heir.release()
        await dead.release()
      },
    )

    test('fault 8: electing: one leader at a time, a stop hands over', {timeout: 60_000}, async () => {
      const log: string[] = []
      const stops = [new AbortController(), new AbortController()]
      const runs = await Promise.all(
        ['a', 'b'].map(async (name, index) => {
          const by = await connect()
          return {
            done: lock(name, by).elect(async (signal) => {
              log.push(`${name} leads`)
              await new Promise((resolve) => signal.addEventListener('abort', resolve, {once: true}))
              log.push(`${name} ends`)
            }, stops[index]?.signal ?? AbortSignal.abort()),
          }
        }),
      )
      await expect.poll(() => log.length, {timeout: 10_000}).toBe(1)
      const first = log[0]?.[0] === 'a' ? 0 : 1
      stops[first]?.abort(new Error('stop'))
      await expect.poll(() => log.length, {timeout: 10_000}).toBe(3)
      expect(log[1]).toBe(`${log[0]?.[0]} ends`)
      stops[1 - first]?.abort(new Error('stop'))
      await Promise.all(runs.map(({done}) => done))
    })
  })
})
