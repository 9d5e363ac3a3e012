import {announce} from '../engine/announce.ts'
import type {CleanedObject, CleanupReport} from '../../model/cleanup.ts'
import type {CorednsResult} from '../../model/coredns-plan.ts'
import {apiVersion} from '../../model/documents.ts'
import {combineExitCodes, exitCodes, SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import type {CleanupPorts, HeldLock, OwnObject, Traces} from './ports.ts'
import {conflictsWith, deletionOrder} from './rules.ts'

export interface CleanupOptions {
  readonly dryRun: 'none' | 'client' | 'server'
  /** Only the lines in cluster DNS, what publishes names to ExternalDNS, and the Lease; other objects stay for Helm to delete. */
  readonly dnsOnly: boolean
  /** Scale controllers to 0 first. */
  readonly stopRun: boolean
  /** Also when the names are served by a proxy now. */
  readonly evenInUse: boolean
  /** Milliseconds that answers of before may live on in caches. */
  readonly settleMs: number
  /** Milliseconds that a stopped controller may take to give the Lease back. */
  readonly leaseWaitMs: number
  /** Shows what was found and asks; resolves false when the person says no. */
  readonly approve: (traces: Traces) => Promise<boolean>
  readonly signal: AbortSignal
  readonly onEvent: EventSink
}

/**
 * Takes every trace of ours out of a cluster: controllers stopped, lines out of DNS and proved, caches settled, then the
 * proxies and the rest, and a second look at the end. Each step begins with what is there, so it can be run again after
 * an interruption. Refuses before the first write: 33 while a live `run` holds the Lease, 32 for objects of a Helm release
 * and for names that a proxy serves now.
 *
 * Exit codes of the report: 0 clean, 21 lines out but not proved on every pod, 22 put back, 23 something is left, 32 DNS refused.
 */
export async function cleanUp(ports: CleanupPorts, options: CleanupOptions): Promise<CleanupReport> {
  try {
    return await checkAndClean(ports, options)
  } catch (error) {
    if (options.signal.aborted) throw options.signal.reason
    throw error
  }
}

async function checkAndClean(ports: CleanupPorts, options: CleanupOptions): Promise<CleanupReport> {
  const {onEvent, signal, dryRun} = options
  const traces = await step(onEvent, 'find', 'look for traces', () => ports.find(signal))
  const refusal = conflictsWith(traces, options)
  if (refusal !== undefined) throw refusal
  if (traces.dns.outcome === 'refused') return report(options, traces, {dns: traces.dns, outcome: 'refused'})
  const objects = deletionOrder(traces.objects.filter((object) => !options.dnsOnly || object.isRecord === true))
  const controllers = options.stopRun ? traces.objects.filter(runs) : []
  const work = traces.dns.plan.edits.length + objects.length + controllers.length
  if (work === 0 && traces.lease === undefined)
    return report(options, traces, {dns: traces.dns, outcome: 'already-clean'})
  const held =
    traces.lease?.holder !== undefined && controllers.length === 0
      ? [`${traces.lease.text} is held by ${traces.lease.holder}: while that runs this is refused (--stop-run)`]
      : []
  if (dryRun === 'client')
    return report(options, traces, {dns: traces.dns, outcome: 'planned', planned: objects, warnings: held})
  if (dryRun === 'server') {
    for (const controller of controllers) await ports.stop(controller, 'server', signal)
    const dns = await ports.cleanDns('server', signal)
    const cleaned: CleanedObject[] = []
    for (const object of objects) cleaned.push(await ports.remove(object, 'server', signal))
    return report(options, traces, {dns, outcome: 'planned', cleaned, warnings: held})
  }
  const confirm = async (): Promise<void> => {
    if (work > 0 && !(await options.approve(traces)))
      throw new SrcipError('Usage', 'nothing was written: the clean-up was not confirmed')
  }
  if (controllers.length > 0) await confirm()
  for (const controller of controllers)
    await step(onEvent, 'stop', `scale ${controller.text} to 0`, () => ports.stop(controller, 'none', signal))
  const lock = await step(onEvent, 'lock', 'take the lock of cluster DNS', () =>
    ports.lock(controllers.length > 0 ? options.leaseWaitMs : 0, signal),
  )
  return await act(ports, options, traces, {
    objects,
    stopped: controllers.map((controller) => controller.text),
    lock,
    // nobody should confirm what cannot be written: where nothing has to be stopped first, the lock comes before the question
    confirm: controllers.length > 0 ? async () => {} : confirm,
  })
}

interface Begun {
  readonly objects: readonly OwnObject[]
  readonly stopped: readonly string[]
  readonly lock: HeldLock
  readonly confirm: () => Promise<void>
}

async function act(
  ports: CleanupPorts,
  options: CleanupOptions,
  traces: Traces,
  {objects, stopped, lock, confirm}: Begun,
): Promise<CleanupReport> {
  const {onEvent, signal} = options
  const inner = AbortSignal.any([signal, lock.signal])
  let dns: CorednsResult
  const cleaned: CleanedObject[] = []
  try {
    await confirm()
    dns = await ports.cleanDns('none', inner)
    // names that still lead to the proxies, or may: nothing that they need is deleted
    if (combineExitCodes([dns.exitCode]) !== exitCodes.Ok)
      return report(options, traces, {dns, stopped, outcome: outcomeOf(dns)})
    const remove = async (some: readonly OwnObject[]): Promise<void> => {
      for (const object of some)
        cleaned.push(await step(onEvent, 'delete', `delete ${object.text}`, () => ports.remove(object, 'none', inner)))
    }
    await remove(objects.filter((object) => object.isRecord === true))
    // also with DNS already clean: a run that was interrupted before it settled left no other sign
    if (options.settleMs > 0 && traces.objects.some((object) => object.component === 'proxy')) {
      await step(onEvent, 'settle', `let caches settle for ${options.settleMs / 1000} s`, () =>
        ports.sleep(options.settleMs, inner),
      )
    }
    await remove(objects.filter((object) => object.isRecord !== true))
  } finally {
    await lock.release()
  }
  const lease = await ports.removeLease(signal)
  if (lease !== undefined) cleaned.push(lease)
  return await prove(ports, options, traces, {dns, stopped, cleaned})
}

/** The second look: what is found now is what is left. */
async function prove(ports: CleanupPorts, options: CleanupOptions, traces: Traces, part: Part): Promise<CleanupReport> {
  const after = await step(options.onEvent, 'verify', 'look again', () => ports.find(options.signal))
  const known = new Set((part.cleaned ?? []).map((entry) => entry.object))
  const more = after.objects.filter(
    (object) => !known.has(object.text) && (!options.dnsOnly || object.isRecord === true),
  )
  const cleaned = [
    ...(part.cleaned ?? []),
    ...more.map((object) => ({object: object.text, state: 'left' as const, reason: 'it appeared meanwhile'})),
  ]
  const left = cleaned.some((entry) => entry.state === 'left') || after.dns.plan.edits.length > 0
  const warnings =
    after.dns.plan.edits.length > 0 ? ['lines of ours are in cluster DNS again: something else writes them'] : []
  return report(options, traces, {...part, cleaned, warnings, outcome: left ? 'left' : 'clean'})
}

interface Part {
  readonly dns: CorednsResult
  readonly outcome?: CleanupReport['outcome']
  readonly stopped?: readonly string[]
  readonly planned?: readonly OwnObject[]
  readonly cleaned?: readonly CleanedObject[]
  readonly warnings?: readonly string[]
}

function report(options: CleanupOptions, traces: Traces, part: Part): CleanupReport {
  const {dns, outcome = 'clean', stopped = [], cleaned = [], planned = []} = part
  const objects = [...planned.map((object) => ({object: object.text, state: 'planned' as const})), ...cleaned]
  const left = objects.some((entry) => entry.state === 'left') || outcome === 'left'
  const deleted = objects.some((entry) => entry.state === 'deleted' || entry.state === 'planned')
  return {
    apiVersion,
    kind: 'CleanupReport',
    dryRun: options.dryRun,
    outcome,
    stopped: [...stopped],
    dns: {
      outcome: dns.outcome,
      sources: [...new Set(dns.plan.edits.map((edit) => edit.source))],
      lines: traces.lines,
      pods: dns.pods.map((pod) => ({...pod})),
    },
    objects,
    exitCode: combineExitCodes([dns.exitCode, left ? exitCodes.Partial : exitCodes.Ok]),
    changed: dns.changed || stopped.length > 0 || deleted,
    warnings: [...dns.warnings, ...(part.warnings ?? [])],
  }
}

function outcomeOf(dns: CorednsResult): CleanupReport['outcome'] {
  if (dns.outcome === 'undone' || dns.outcome === 'refused') return dns.outcome
  if (dns.exitCode === exitCodes.NeedsAction) return 'unproved'
  return 'left'
}

function runs(object: OwnObject): boolean {
  return object.component === 'controller' && (object.replicas ?? 0) > 0
}

async function step<T>(onEvent: EventSink, name: string, title: string, work: () => Promise<T>): Promise<T> {
  return await announce(onEvent, {step: name, title, changed: () => name === 'stop' || name === 'delete'}, work)
}
