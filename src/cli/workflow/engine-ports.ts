import {randomBytes} from 'node:crypto'
import {sleep, systemClock, type KubeClient, type LeaseLock} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {Proof} from '../../model/proofs.ts'
import type {EnginePorts} from '../../workflows/engine/ports.ts'
import {person} from '../person.ts'
import type {AuditLog} from './audit-log.ts'
import {openJournal} from './journal.ts'
import {lookAt, make} from './operations/index.ts'
import type {DnsAccess} from './operations/dns.ts'
import {readProof, type ProofMemory} from './proofs/index.ts'
import {workflowLock} from './lock.ts'
import {createRecordStore} from './records.ts'
import {assertMayDo} from './rights.ts'

export interface EnginePortOptions {
  readonly client: KubeClient
  /** Where the lock and the record lie: kube-system, or the tenant's namespace. */
  readonly namespace: string
  readonly dns: DnsAccess
  /** Steps that a person says are done: `--done STEP`. */
  readonly said: readonly string[]
  readonly lockTimeoutMs: number
  readonly audit: AuditLog | undefined
  /** The version of a record that was read, when a run goes on. */
  readonly recordVersion?: string | undefined
}

/** The engine over a real cluster. `close` after the run: it ends the journal. */
export function enginePorts(options: EnginePortOptions): EnginePorts & {close(): void} {
  const {client, namespace, dns, audit} = options
  const store = createRecordStore(client, namespace)
  store.adopt(options.recordVersion)
  const memory: ProofMemory = {
    said: new Set(options.said),
    since: new Map(),
    discarded: new Map(),
    now: () => systemClock.now(),
  }
  let journal: ReturnType<typeof openJournal> | undefined
  return {
    look: (operation, signal) => lookAt(client, operation, dns, signal),
    async act(operation, {dryRun, signal}) {
      return {notes: await make(client, operation, dns, {dryRun, signal})}
    },
    prove: (proof, signal) => readProof({client, dns, memory, signal}, proof as unknown as Proof),
    mayDo: (operations, signal) => assertMayDo(client, operations, namespace, signal),
    async lock(runId, signal) {
      const lease = workflowLock(client, namespace, `${ourselves()}${runId}`)
      const lost = await lease.acquire({signal, waitMs: options.lockTimeoutMs}).catch((error: unknown) => {
        throw withRuns(error)
      })
      return {signal: named(lost, lease), release: () => lease.release()}
    },
    async saveRecord(record, signal) {
      journal ??= openJournal(record.id)
      audit?.begin(record.id)
      journal.note(record, false)
      await store.save(record, signal)
      journal.note(record, true)
    },
    newRun() {
      const stamp = new Date().toISOString().replaceAll(/[-:]/g, '').replace('T', '-').slice(0, 15)
      return {id: `${stamp}-${randomBytes(3).toString('hex')}`, by: person()}
    },
    timestamp: () => new Date().toISOString(),
    now: () => systemClock.now(),
    sleep: (ms, signal) => sleep(systemClock, ms, signal),
    close: () => journal?.close(),
  }
}

/** The same signal with a reason for people: somebody has taken the lock, or nobody could be told that we still hold it. */
function named(lost: AbortSignal, lease: LeaseLock): AbortSignal {
  const controller = new AbortController()
  lost.addEventListener(
    'abort',
    () => {
      const {holder} = lease
      const reason =
        holder !== undefined && !holder.identity.startsWith(ourselves())
          ? new SrcipError('Conflict', `the lock of this run was taken by ${holder.identity}`)
          : new SrcipError('Unreachable', 'the lock of this run could not be renewed: the API server gives no answer')
      controller.abort(reason)
    },
    {once: true},
  )
  return controller.signal
}

/** What the identity of this process in a Lease begins with. */
function ourselves(): string {
  return `${person()}:${process.pid}:`
}

function withRuns(error: unknown): unknown {
  if (!(error instanceof SrcipError) || error.code !== 'Conflict') return error
  return new SrcipError('Conflict', error.message, {
    ...(error.object === undefined ? {} : {object: error.object}),
    hints: ['kubectl srcip runs shows which run that is', ...error.hints],
    cause: error,
  })
}
