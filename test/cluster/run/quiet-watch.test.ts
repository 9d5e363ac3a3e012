import type {ServerResponse} from 'node:http'
import {afterEach, describe, expect, test} from 'vitest'
import {sourceTroubles} from '../../../src/diagnosis/status.ts'
import {startFakeCluster} from './fake-cluster.ts'
import type {FakeCluster} from './fake-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

/*
 * Case B53: watches of Ingresses that answer and then say nothing, or nonsense. The truth is in LIST alone; with a relist
 * period of 20 s a new Ingress must be written within 25 s. `mode` is what each watch does.
 */
const modes: Readonly<Record<string, (response: ServerResponse, first: object) => void>> = {
  silent: (response) => response.flushHeaders(),
  gone: (response) => {
    const object = {kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version'}
    response.end(`${JSON.stringify({type: 'ERROR', object})}\n`)
  },
  slam: (response) => {
    response.flushHeaders()
    response.end()
  },
  'half-open': (response, object) => {
    response.write(`${JSON.stringify({type: 'MODIFIED', object})}\n`)
  },
  truncated: (response, object) => {
    response.write(JSON.stringify({type: 'MODIFIED', object}).slice(0, 40))
    response.end()
  },
}

describe('a watch that goes quiet', () => {
  const clusters: FakeCluster[] = []
  const processes: RunProcess[] = []
  afterEach(async () => {
    for (const process of processes.splice(0)) await process.stop('SIGKILL')
    for (const cluster of clusters.splice(0)) await cluster.stop()
  })

  test(
    'fault 4: in all five modes a new host is written within 25 s, with at most two watches open',
    {timeout: 120_000},
    async () => {
      const rigs = await Promise.all(
        Object.entries(modes).map(async ([mode, answer]) => {
          const cluster = await startFakeCluster({hosts: ['one.example.org']})
          clusters.push(cluster)
          const open = {now: 0, most: 0}
          const first = {
            apiVersion: 'networking.k8s.io/v1',
            kind: 'Ingress',
            ...cluster.server.objects.list('networking.k8s.io/v1/ingresses', 'demo')[0],
          }
          cluster.onIngresses((request, response) => {
            if (!request.watch) return false
            open.most = Math.max(open.most, ++open.now)
            response.once('close', () => open.now--)
            response.setHeader('content-type', 'application/json')
            answer(response, first)
            return true
          })
          const run = new RunProcess(
            runOptions({kube: {kubeconfig: cluster.kubeconfig}, relistMs: 20_000, logLevel: 'info'}),
            {POD_NAME: 'srcip-0'},
          )
          processes.push(run)
          return {mode, cluster, run, open}
        }),
      )
      // Each starts with the first host, whatever its watches do: a list is the fall-back.
      for (const {mode, cluster} of rigs) {
        await expect.poll(() => cluster.names(), {timeout: 60_000, message: mode}).toEqual(['one.example.org'])
      }
      const since = Date.now()
      for (const {cluster} of rigs) cluster.addIngress('two', 'two.example.org')
      for (const {mode, cluster} of rigs) {
        await expect
          .poll(() => cluster.names(), {timeout: Math.max(1, since + 25_000 - Date.now()), message: mode})
          .toEqual(['one.example.org', 'two.example.org'])
      }
      for (const {mode, run, open} of rigs) {
        expect(open.most, mode).toBeLessThanOrEqual(2)
        expect(run.child.exitCode, mode).toBeNull()
        // The other modes end their watches by themselves.
        if (mode === 'silent' || mode === 'half-open')
          expect((await run.said('quiet watch was replaced')).msg, mode).toContain('ingresses')
        // Kinds that this cluster does not have (B32): off, said once, no complaint.
        await run.said('source httproutes is not served by this cluster', 60_000)
        expect(
          run.lines.filter(({msg}) => msg.includes('httproutes')).map(({level}) => level),
          mode,
        ).toEqual(['info'])
      }
    },
  )

  test(
    'when LIST fails too, readiness turns false after two periods and names the source; the names stay',
    {timeout: 120_000},
    async () => {
      const cluster = await startFakeCluster({hosts: ['one.example.org']})
      clusters.push(cluster)
      let broken = false
      cluster.onIngresses((request, response) => {
        if (!broken) return false
        if (request.watch) response.flushHeaders()
        else response.writeHead(503).end('{}')
        return true
      })
      const run = new RunProcess(
        runOptions({
          kube: {kubeconfig: cluster.kubeconfig},
          relistMs: 4000,
          families: ['ingress'],
          healthAddress: '127.0.0.1:38081',
          logLevel: 'info',
        }),
        {POD_NAME: 'srcip-0'},
      )
      processes.push(run)
      const readyz = async () => {
        const response = await fetch('http://127.0.0.1:38081/readyz').catch(() => undefined)
        return response === undefined ? 'no answer' : `${response.status} ${await response.text()}`
      }
      await expect.poll(readyz, {timeout: 30_000}).toBe('200 ok')
      await expect.poll(() => cluster.names(), {timeout: 30_000}).toEqual(['one.example.org'])
      broken = true
      const brokenAt = Date.now()
      cluster.server.endWatches()
      // Ready for a while yet, and what `status` shows of it: which list fails, since when and why (B32).
      const troubles = async () =>
        sourceTroubles(await (await fetch('http://127.0.0.1:38081/readyz?verbose')).text()).join('\n')
      await expect
        .poll(troubles, {timeout: 8000, interval: 100})
        .toMatch(/^source ingresses .*for \d+s: API server .* cannot answer now \(HTTP 503/)
      await expect
        .poll(readyz, {timeout: 60_000})
        .toMatch(/^503 [^]*\[-\]source ingresses failed: .*no complete list for \d+s/)
      expect(Date.now() - brokenAt).toBeGreaterThan(4000)
      // An API server that fails is no reason to be started again.
      const livez = await fetch('http://127.0.0.1:38081/livez?verbose')
      expect(`${livez.status} ${await livez.text()}`).toMatch(/^200 [^]*\[\+\]source-loops ok: all move/)
      expect(cluster.names()).toEqual(['one.example.org'])
      broken = false
      await expect.poll(readyz, {timeout: 60_000}).toBe('200 ok')
    },
  )
})
