import {spawn} from 'node:child_process'
import {once} from 'node:events'
import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {apiClient} from '../cluster/bed/api-client.ts'
import {API_SERVER_PARTS, partPaths, startApiServer, type ApiServer} from '../cluster/bed/index.ts'
import {interleave, median, type Bench, type BenchRow} from './bench.ts'

const entry = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const ingresses = 5000
const rounds = 5

/** Kinds that every snapshot lists whole, as kubectl calls them. */
const kinds =
  'namespaces,nodes,services,ingresses.networking.k8s.io,ingressclasses,deployments.apps,daemonsets.apps,statefulsets.apps'

/** A whole snapshot against one `kubectl get` of the same kinds: wall time and memory, whole processes. */
export const bench: Bench = {
  title: `snapshot of ${ingresses} Ingresses against \`kubectl get\` of the same kinds`,
  async run(progress): Promise<readonly BenchRow[]> {
    const parts = await partPaths([...API_SERVER_PARTS, 'kubectl'])
    if ('missing' in parts) return [missing(String(parts.missing))]
    progress('starts a kube-apiserver')
    const api = await startApiServer()
    try {
      progress(`creates ${ingresses} Ingresses`)
      await fill(api)
      const env = {PATH: process.env['PATH'] ?? '', HOME: api.folder, KUBECONFIG: api.kubeconfig}
      const ours = ['snapshot', '--output-file', join(api.folder, 'cluster.json')]
      const snapshot = () => measured(process.execPath, [entry, ...ours], env)
      const get = () => measured(parts.kubectl, ['get', kinds, '-A', '-o', 'json'], env)
      await snapshot() // fills the compile cache, as the second call of any user finds it
      progress(`${rounds} rounds of each, in turn`)
      const memory: {ours: number[]; peer: number[]} = {ours: [], peer: []}
      const time = await interleave(
        rounds,
        async () => keep(memory.ours, await snapshot()),
        async () => keep(memory.peer, await get()),
      )
      const [mine, theirs] = [median(memory.ours), median(memory.peer)]
      return [
        {
          work: 'wall time',
          ours: `${time.ours.toFixed(0)} ms`,
          peer: `${time.peer.toFixed(0)} ms`,
          ratio: time.ratio,
          goal: 'below 1: no slower than kubectl, which reads less',
        },
        {
          work: 'largest resident memory',
          ours: `${mine.toFixed(0)} MB`,
          peer: `${theirs.toFixed(0)} MB`,
          ratio: mine / theirs,
          goal: 'below 150 MB',
        },
      ]
    } finally {
      await api.stop()
    }
  },
}

interface Measured {
  readonly ms: number
  readonly megabytes: number
}

function keep(list: number[], one: Measured): number {
  list.push(one.megabytes)
  return one.ms
}

/** Runs a program to its end; the kernel keeps the peak of its memory, which is read until it is gone. */
async function measured(program: string, argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Measured> {
  const started = performance.now()
  const child = spawn(program, argv, {env, stdio: ['ignore', 'ignore', 'pipe']})
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  let kilobytes = 0
  const look = setInterval(() => (kilobytes = peakOf(child.pid) ?? kilobytes), 10)
  const [code] = (await once(child, 'close')) as [number | null]
  clearInterval(look)
  const ms = performance.now() - started
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${stderr}`)
  return {ms, megabytes: kilobytes / 1024}
}

function peakOf(pid: number | undefined): number | undefined {
  try {
    const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return found === undefined ? undefined : Number(found)
  } catch {
    return undefined
  }
}

async function fill(api: ApiServer): Promise<void> {
  const admin = apiClient({port: api.port, ca: api.ca, token: api.adminToken})
  try {
    for (const name of ['demo', 'edge']) await admin.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name}})
    let next = 0
    const worker = async (): Promise<void> => {
      while (next < ingresses) {
        const index = next++
        await admin.create(ingress(index))
      }
    }
    await Promise.all(Array.from({length: 30}, worker))
  } finally {
    admin.close()
  }
}

function ingress(index: number) {
  const host = `shop-${index}.example.org`
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      name: `shop-${index}`,
      namespace: 'demo',
      annotations: {
        'cert-manager.io/cluster-issuer': 'letsencrypt',
        'nginx.ingress.kubernetes.io/proxy-body-size': '8m',
      },
    },
    spec: {
      ingressClassName: 'nginx',
      rules: [
        {host, http: {paths: [{path: '/', pathType: 'Prefix', backend: {service: {name: 'web', port: {number: 80}}}}]}},
      ],
      tls: [{hosts: [host], secretName: `shop-${index}-tls`}],
    },
  }
}

function missing(reason: string): BenchRow {
  return {work: 'snapshot', ours: '-', peer: `missing: ${reason}`, ratio: undefined, goal: 'below 150 MB'}
}
