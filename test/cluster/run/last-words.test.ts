import {afterEach, beforeEach, expect, test} from 'vitest'
import {startFakeCluster} from './fake-cluster.ts'
import type {FakeCluster} from './fake-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

let cluster: FakeCluster
beforeEach(async () => {
  cluster = await startFakeCluster({hosts: ['a.example.org']})
})
afterEach(() => cluster.stop())

/** A bug of ours as Node sees it, planted into the process once it works. */
const bugs = {
  'unhandled rejection': 'setTimeout(() => void Promise.reject(new Error("boom")), 3000)',
  'uncaught exception': 'setTimeout(() => { throw new Error("boom") }, 3000)',
}

test.each(Object.entries(bugs))(
  'an %s is the last line of the log, in JSON, with exit code 1',
  {timeout: 60_000},
  async (what, code) => {
    const run = new RunProcess(runOptions({kube: {kubeconfig: cluster.kubeconfig}, families: ['ingress']}), {
      POD_NAME: 'srcip-0',
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
    })
    expect(await run.exited).toBe(1)
    expect(run.lines.filter(({level}) => level === 'text')).toEqual([])
    expect(run.lines.at(-1)).toMatchObject({level: 'error', msg: `this is a bug in srcip: ${what}: boom`, exitCode: 1})
    expect(run.lines.at(-1)?.['stack']).toContain('data:text/javascript')
    expect(run.lines.map(({msg}) => msg)).toContain('srcip run starts')
  },
)
