import {mkdir, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterEach, beforeEach, expect, test} from 'vitest'
import {startFakeCluster} from './fake-cluster.ts'
import type {FakeCluster} from './fake-cluster.ts'
import {RunProcess, runOptions} from './run-process.ts'

const hosts = ['a.example.org', 'b.example.org']
const foreign = '127.0.0.1 localhost\n'
const waiting = {timeout: 30_000, interval: 100}

let cluster: FakeCluster
let folder: string
let run: RunProcess | undefined
beforeEach(async () => {
  cluster = await startFakeCluster({hosts})
  folder = await mkdtemp(join(tmpdir(), 'srcip-outputs-'))
})
afterEach(async () => {
  await run?.stop('SIGKILL')
  await cluster.stop()
  await rm(folder, {recursive: true, force: true})
})

const start = (hostsPath: string): RunProcess => {
  run = new RunProcess(
    runOptions({
      kube: {kubeconfig: cluster.kubeconfig},
      families: ['ingress'],
      writeTo: ['corefile', 'hosts'],
      hostsPath,
    }),
    {POD_NAME: 'srcip-0'},
  )
  return run
}

const namesIn = async (path: string): Promise<string[]> => {
  const text = await readFile(path, 'utf8').catch(() => '')
  return [...text.matchAll(/\b\w+\.example\.org\b/g)].map(([name]) => name).toSorted()
}

test('Corefile and hosts file at once hold the same names, and follow together', {timeout: 60_000}, async () => {
  const path = join(folder, 'hosts')
  await writeFile(path, foreign)
  start(path)
  await expect.poll(() => cluster.names(), waiting).toEqual(hosts)
  await expect.poll(() => namesIn(path), waiting).toEqual(hosts)
  cluster.addIngress('late', 'late.example.org')
  const all = [...hosts, 'late.example.org']
  await expect.poll(() => cluster.names(), waiting).toEqual(all)
  await expect.poll(() => namesIn(path), waiting).toEqual(all)
  expect((await readFile(path, 'utf8')).startsWith(foreign)).toBe(true)
  expect(await run?.stop()).toBe(0)
})

test('an output that fails is named, and holds up no other', {timeout: 60_000}, async () => {
  const path = join(folder, 'missing', 'hosts')
  const process = start(path)
  await process.said(path)
  cluster.addIngress('late', 'late.example.org')
  await expect.poll(() => cluster.names(), waiting).toEqual([...hosts, 'late.example.org'])
  expect(process.child.exitCode).toBeNull()
  await mkdir(join(folder, 'missing'))
  await expect.poll(() => namesIn(path), waiting).toEqual([...hosts, 'late.example.org'])
})
