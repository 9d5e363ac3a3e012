import {randomBytes} from 'node:crypto'
import {setTimeout as sleep} from 'node:timers/promises'
import type {Bed, KubeObject} from '../bed/index.ts'

interface Job extends KubeObject {
  spec: {
    activeDeadlineSeconds?: number
    template: {metadata: {labels: Record<string, string>}; spec: Record<string, unknown>}
  }
  status?: {conditions?: unknown[]}
}

/**
 * What the Job controller does, as far as a hook needs it: one Pod of the template with its own ServiceAccount and token,
 * run by the bed's kubelet, and the conditions that say how it ended. A Pod that never starts ends with the deadline.
 * Ends with the signal.
 */
export async function runJobs(bed: Bed, namespace: string, signal: AbortSignal): Promise<void> {
  const path = `/apis/batch/v1/namespaces/${namespace}/jobs`
  const known = new Set<string>()
  while (!signal.aborted) {
    for (const job of await bed.api.list<Job>(path).catch(() => [])) {
      const uid = job.metadata.uid ?? ''
      if (known.has(uid)) continue
      known.add(uid)
      void runJob(bed, path, job, signal).catch((error: unknown) => {
        if (!signal.aborted) process.stderr.write(`job ${job.metadata.name}: ${String(error)}\n`)
      })
    }
    await sleep(100)
  }
}

async function runJob(bed: Bed, path: string, job: Job, signal: AbortSignal): Promise<void> {
  const {name, namespace = 'default', uid = ''} = job.metadata
  const startTime = now()
  const {metadata, spec} = job.spec.template
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `${name}-${randomBytes(3).toString('hex').slice(0, 5)}`,
      namespace,
      labels: {...metadata.labels, 'job-name': name},
      ownerReferences: [{apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true}],
    },
    spec,
  }
  // a Pod that admission refuses is tried again by the real controller; what ends the Job is its deadline
  const refused = await bed.api.create(pod).then(
    () => false,
    () => true,
  )
  const end = performance.now() + (job.spec.activeDeadlineSeconds ?? Infinity) * 1000
  let phase: string | undefined
  while (!signal.aborted && performance.now() < end && phase !== 'Succeeded' && phase !== 'Failed') {
    await sleep(100)
    if (refused) continue
    const live = await bed.api.get<KubeObject & {status?: {phase?: string}}>(
      `/api/v1/namespaces/${namespace}/pods/${pod.metadata.name}`,
    )
    phase = live.status?.phase
  }
  if (signal.aborted) return
  if (phase === 'Failed')
    process.stderr.write(`job ${name}: ${await bed.podLog(`${namespace}/${pod.metadata.name}`)}\n`)
  const status = phase === 'Succeeded' ? succeeded(startTime) : failed(startTime, phase !== 'Failed')
  await bed.api.request('PATCH', `${path}/${name}/status`, {status}, 'application/merge-patch+json')
  // the Pod of a Job that ran late is ended; others go with the Job
  while (phase === 'Succeeded' || phase === 'Failed') {
    await sleep(100)
    if (signal.aborted) return
    const jobs = await bed.api.list<Job>(path)
    if (!jobs.some(({metadata: meta}) => meta.uid === uid)) break
  }
  if (!refused) await bed.api.delete(pod)
}

/** As the API server checks it since Kubernetes 1.31: the target condition comes before the end. */
function succeeded(startTime: string) {
  const at = now()
  const condition = (type: string) => ({
    type,
    status: 'True',
    lastProbeTime: at,
    lastTransitionTime: at,
    reason: 'CompletionsReached',
  })
  return {
    startTime,
    completionTime: at,
    succeeded: 1,
    conditions: [condition('SuccessCriteriaMet'), condition('Complete')],
  }
}

function failed(startTime: string, late: boolean) {
  const at = now()
  const reason = late ? 'DeadlineExceeded' : 'BackoffLimitExceeded'
  const message = late ? 'Job was active longer than specified deadline' : 'Job has reached the specified backoff limit'
  const condition = (type: string) => ({
    type,
    status: 'True',
    lastProbeTime: at,
    lastTransitionTime: at,
    reason,
    message,
  })
  return {startTime, failed: 1, conditions: [condition('FailureTarget'), condition('Failed')]}
}

function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z')
}
