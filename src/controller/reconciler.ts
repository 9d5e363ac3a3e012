import {createHash} from 'node:crypto'
import {collectHosts, readName} from '../hosts/index.ts'
import type {HostCollection, HostOptions} from '../hosts/index.ts'
import {hasStatus, isAdmissionDenial, sleep} from '../kube/index.ts'
import type {Clock, Log} from '../kube/index.ts'
import {SrcipError} from '../model/errors.ts'
import type {Host} from '../model/hosts.ts'
import {ForeignWrites} from './foreign-writer.ts'
import {PassFailures} from './pass-failures.ts'
import {guardNames, keyOf} from './names-guard.ts'
import type {GuardVerdict, Published} from './names-guard.ts'
import type {Output, OutputPlan, OutputView} from './output.ts'
import {withholdUnserved} from './proxy-endpoints.ts'
import {ProofTracker} from './proof-tracker.ts'
import type {Outcome} from './queue.ts'
import type {Conditions, EventSinkPort} from './reports.ts'
import type {Sources} from './sources.ts'

export interface ReconcilerOptions {
  readonly output: Output
  readonly sources: Pick<Sources, 'hostSources' | 'proxies' | 'complete' | 'lostByList' | 'relist'> &
    Partial<Pick<Sources, 'proxyIsReady'>>
  readonly hostOptions: Omit<HostOptions, 'proxies'>
  /** How names come from the sources; default collectHosts. */
  readonly collect?: typeof collectHosts
  readonly allowEmpty: boolean
  readonly dryRun: boolean
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  readonly conditions: Conditions
  readonly events: EventSinkPort
  /** Rejects unless we may write now. Asked immediately before each write. */
  readonly assertLeader: () => Promise<void>
  readonly onWritten?: () => void
  readonly observer?: ReconcilerObserver
  /** Called when the proof of a write has come to its end. */
  readonly onProof?: () => void
}

export interface ReconcilerObserver {
  onHosts?(count: number): void
  onBytes?(bytes: number): void
  /** Names that wait for their proxy. */
  onWithheld?(count: number): void
  onWrite?(
    result: 'written' | 'proved' | 'unconfirmed' | 'reverted' | 'conflict' | 'denied' | 'error' | 'dry-run',
  ): void
  onForeignRewrite?(): void
  /** Nothing may be written until the inputs change. */
  onBlocked?(): void
}

/** Tries against a moving object before the pass gives up and comes back (client-go's DefaultRetry). */
const conflictTries = 5

/** Brings one output to the wanted set. One pass at a time; the queue sees to that. */
export class Reconciler {
  readonly #options: ReconcilerOptions
  readonly #foreign: ForeignWrites
  readonly proofs: ProofTracker
  /** Sources that named each name when it was last wanted in this process. */
  readonly #lastSources = new Map<string, readonly string[]>()
  /** Names that stood there when this process first looked: any source may have asked for those. */
  #foundAtStart: ReadonlySet<string> | undefined
  #written: ReadonlySet<string> | undefined
  /** Sets that CoreDNS has refused: not tried again until their inputs change. */
  readonly #refuted = new Set<string>()
  readonly #blockedCodes = new Set<string>()
  /** Inputs of the last plan that had nothing to write: planning 10,000 names again would only cost. */
  #inStepWith: string | undefined
  #withheld: readonly Host[] = []
  readonly #failures: PassFailures
  #state: ReconcileState = {result: 'waiting', reason: 'nothing has been reconciled yet'}

  constructor(options: ReconcilerOptions) {
    this.#options = options
    this.#foreign = new ForeignWrites(options.clock)
    this.#failures = new PassFailures({...options, output: options.output.name})
    this.proofs = new ProofTracker({
      log: options.log,
      events: options.events,
      conditions: options.conditions,
      onVerdict: (verdict, fingerprint) => {
        if (verdict === 'reverted' || verdict === 'failed') this.#refuted.add(fingerprint)
        if (verdict === 'reverted') this.#written = undefined
        options.observer?.onWrite?.(verdict === 'done' ? 'proved' : verdict === 'failed' ? 'error' : verdict)
        options.onProof?.()
      },
    })
  }

  get state(): ReconcileState {
    return this.#state
  }

  /** True while the output does not take every wanted name. */
  get namesRefused(): boolean {
    return this.#options.conditions.active.has('names-refused')
  }

  /** One pass. Rejects for failures that the queue comes back for. */
  async reconcile(signal: AbortSignal): Promise<Outcome> {
    if (this.#foreign.pauseMs > 0) return {result: 'again', afterMs: this.#foreign.pauseMs}
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#pass(signal)
      } catch (error) {
        signal.throwIfAborted()
        if (!isConflict(error)) return this.#failed(error)
        this.#options.observer?.onWrite?.('conflict')
        if (attempt === conflictTries) throw error
        await sleep(this.#options.clock, 10 * (1 + this.#options.random()), signal)
      }
    }
  }

  async #pass(signal: AbortSignal): Promise<Outcome> {
    const {output, sources, conditions, log} = this.#options
    const targets = sources.proxies().map((proxy) => proxy.target)
    const view = await output.read(targets, signal)
    this.#foundAtStart ??= new Set(view.published.map(keyOf))
    if (await this.#takenOut(view)) return {result: 'again', afterMs: this.#foreign.pauseMs}

    let collection = this.#collect(view)
    let verdict = this.#guard(view, collection, false)
    if (verdict.reason === 'mass-removal') {
      log.info('a list lacks over half of the published names; asking once more', {names: verdict.kept.length})
      await sources.relist(signal)
      collection = this.#collect(view)
      verdict = this.#guard(view, collection, true)
    }
    this.#remember(collection)
    this.#sayKept(verdict, view)

    const spared = sparedNames(collection)
    const inputs = `${view.version} ${fingerprintOf(verdict.names)} ${spared.join(' ')}`
    if (this.#inStepWith === inputs) return {result: 'done'}
    const plan = view.plan(verdict.names, spared)
    this.#options.observer?.onHosts?.(plan.published.length)
    this.#options.observer?.onBytes?.(plan.bytes)
    this.#sayRefused(plan, view)
    if (plan.blocked !== undefined) return this.#blocked(plan.blocked, view)
    for (const code of this.#blockedCodes) conditions.clear(`blocked ${code}`, `${output.name} can be written again`)
    this.#blockedCodes.clear()

    const fingerprint = fingerprintOf(plan.published)
    if (!plan.changes) {
      this.#written = new Set(plan.published.map(keyOf))
      this.#state = {result: 'in-step', names: plan.published.length}
      this.#inStepWith = inputs
      conditions.clear('foreign-writer', 'our names stand again')
      return {result: 'done'}
    }
    if (this.#refuted.has(fingerprint)) {
      this.#state = {result: 'blocked', reason: 'CoreDNS has refused this very set; it is tried again when it changes'}
      return {result: 'done'}
    }
    return await this.#write(plan, view, fingerprint, signal)
  }

  async #write(plan: OutputPlan, view: OutputView, fingerprint: string, signal: AbortSignal): Promise<Outcome> {
    const {output, log, observer, events} = this.#options
    const difference = differenceOf(view.published, plan.published)
    if (this.#options.dryRun) {
      log.info('would write (dry run)', {output: output.name, ...shownDifference(difference)})
      observer?.onWrite?.('dry-run')
      this.#state = {result: 'dry-run', names: plan.published.length}
      return {result: 'done'}
    }
    const pauseMs = this.#failures.pauseMs(fingerprint)
    if (pauseMs > 0) {
      const reason = 'the API server alters this very set; it is tried again in ten minutes, or when it changes'
      this.#state = {result: 'blocked', reason}
      return {result: 'again', afterMs: pauseMs}
    }
    await this.#options.assertLeader()
    let written
    try {
      written = await plan.write(signal)
    } catch (error) {
      if (this.#failures.wasAltered(error, fingerprint, view.object)) this.#options.onWritten?.()
      throw error
    }
    this.#failures.written()
    this.#written = new Set(plan.published.map(keyOf))
    this.#options.onWritten?.()
    observer?.onWrite?.('written')
    const note = `wrote ${plan.published.length} names to ${output.name}: ${difference.added.length} new, ${difference.removed.length} gone`
    log.info(note, {output: output.name, ...shownDifference(difference)})
    events.emit({regarding: view.object, type: 'Normal', reason: 'Applied', action: 'Write', note})
    this.#state = {result: 'written', names: plan.published.length}
    this.proofs.follow(written, {fingerprint, regarding: view.object, output: output.name})
    return {result: 'done'}
  }

  /** Names that wait for a ready endpoint of their proxy. */
  get withheld(): readonly Host[] {
    return this.#withheld
  }

  #collect(view: OutputView): HostCollection {
    const {sources, hostOptions} = this.#options
    const proxies = sources.proxies()
    const all = (this.#options.collect ?? collectHosts)(sources.hostSources(), {...hostOptions, proxies})
    const isReady = sources.proxyIsReady?.bind(sources)
    if (isReady === undefined) return all
    const known = new Set(proxies.map((proxy) => proxy.target))
    const asked = new Map([...new Set(all.hosts.map((host) => host.target))].map((target) => [target, isReady(target)]))
    const {collection, withheld} = withholdUnserved(all, view.published, (target) => asked.get(target), known)
    this.#withheld = withheld
    this.#sayWithheld(view)
    return collection
  }

  #guard(view: OutputView, collection: HostCollection, confirmed: boolean): GuardVerdict {
    const {sources, allowEmpty} = this.#options
    return guardNames({
      published: view.published,
      wanted: collection.hosts,
      complete: sources.complete,
      confirmed,
      allowEmpty,
      addedHere: (entry) => this.#foundAtStart?.has(keyOf(entry)) === false,
      observed: (entry) => {
        const known = this.#lastSources.get(keyOf(entry))
        return known !== undefined && !known.some((source) => sources.lostByList(source))
      },
    })
  }

  #sayWithheld(view: OutputView): void {
    const {conditions, observer, output} = this.#options
    const count = this.#withheld.length
    observer?.onWithheld?.(count)
    if (count === 0)
      return conditions.clear('no-ready-endpoint', `${output.name}: no name waits for its proxy any more`)
    const targets = [...new Set(this.#withheld.map((host) => host.target))]
    conditions.raise('no-ready-endpoint', {
      reason: 'NoReadyEndpoint',
      note: `${count} names wait: no-ready-endpoint, ${targets.join(', ')} ${targets.length === 1 ? 'has' : 'have'} none yet`,
      regarding: view.object,
      fields: {names: this.#withheld.slice(0, 20).map((host) => host.name)},
    })
  }

  /** Remembers who named what, also for names that are gone now: that tells an observed delete from a list. */
  #remember(collection: HostCollection): void {
    for (const host of collection.hosts) this.#lastSources.set(keyOf(host), host.sources)
    if (this.#lastSources.size <= 4 * collection.hosts.length + 10_000) return
    const wanted = new Set(collection.hosts.map(keyOf))
    for (const key of this.#lastSources.keys()) if (!wanted.has(key)) this.#lastSources.delete(key)
  }

  #sayKept(verdict: GuardVerdict, view: OutputView): void {
    const {conditions, log} = this.#options
    if (verdict.reason === undefined) {
      conditions.clear('removal-held', 'no name is kept back any more')
      return
    }
    if (verdict.reason === 'sources-incomplete') {
      log.debug('names are kept until every source has been seen whole', {kept: verdict.kept.length})
      return
    }
    const why =
      verdict.reason === 'empty-list'
        ? 'no source names anything, which without --allow-empty is not believed'
        : 'over half of the names are missing from a list'
    conditions.raise('removal-held', {
      reason: 'RemovalHeld',
      note: `${verdict.kept.length} names stay: ${why}`,
      regarding: view.object,
      fields: {names: verdict.kept.slice(0, 20).map((entry) => entry.name)},
    })
  }

  #sayRefused(plan: OutputPlan, view: OutputView): void {
    const {conditions} = this.#options
    if (plan.refused.length === 0) {
      conditions.clear('names-refused', 'every wanted name is taken')
      return
    }
    const first = plan.refused.slice(0, 3).map((entry) => `${entry.name} (${entry.code}: ${entry.reason})`)
    const more = plan.refused.length > 3 ? ` and ${plan.refused.length - 3} more` : ''
    conditions.raise('names-refused', {
      reason: 'NamesRefused',
      note: `${plan.refused.length} names are not taken: ${first.join('; ')}${more}`,
      regarding: view.object,
    })
  }

  /** A text that must not be written: said once, and looked at again when it changes. */
  #blocked(blocked: NonNullable<OutputPlan['blocked']>, view: OutputView): Outcome {
    const reason =
      blocked.code === 'MarkersDamaged'
        ? 'MarkersDamaged'
        : blocked.code === 'Immutable'
          ? 'ConfigMapImmutable'
          : blocked.code === 'TooLarge'
            ? 'TooLarge'
            : 'WriteBlocked'
    const remedy = blocked.remedy === undefined ? '' : `; ${blocked.remedy}`
    this.#options.conditions.raise(`blocked ${blocked.code}`, {
      reason,
      note: `nothing is written to ${this.#options.output.name}: ${blocked.reason}${remedy}`,
      regarding: view.object,
      fields: {code: blocked.code},
    })
    this.#blockedCodes.add(blocked.code)
    this.#options.observer?.onBlocked?.()
    this.#state = {result: 'blocked', reason: blocked.reason}
    return {result: 'done'}
  }

  /** True while we stay away because somebody else keeps taking our names out. */
  async #takenOut(view: OutputView): Promise<boolean> {
    const mine = this.#written
    if (mine === undefined) return false
    const now = new Set(view.published.map(keyOf))
    if ([...mine].every((key) => now.has(key))) return false
    this.#written = undefined
    this.#options.observer?.onForeignRewrite?.()
    const names = await view.managers()
    const managers = names.length === 0 ? 'an unknown manager' : names.join(', ')
    this.#options.log.warn('our names were taken out by another writer', {managers: names})
    if (!this.#foreign.note()) return false
    this.#options.conditions.raise('foreign-writer', {
      reason: 'ForeignWriter',
      note: `another writer (${managers}) keeps taking our names out; staying away for 10 minutes`,
      regarding: view.object,
    })
    this.#state = {result: 'blocked', reason: `another writer (${managers}) keeps taking our names out`}
    return true
  }

  #failed(error: unknown): Outcome {
    const message = error instanceof Error ? error.message : String(error)
    this.#state = {result: 'failed', reason: message, exitCode: error instanceof SrcipError ? error.exitCode : 1}
    return this.#failures.outcome(error)
  }
}

/** Where the last pass has led to, for readiness and `--once`. */
export type ReconcileState =
  | {readonly result: 'waiting' | 'blocked'; readonly reason: string}
  | {readonly result: 'failed'; readonly reason: string; readonly exitCode: number}
  | {readonly result: 'in-step' | 'written' | 'dry-run'; readonly names: number}

function isConflict(error: unknown): boolean {
  if (isAdmissionDenial(error)) return false
  return hasStatus(error, 409) || (error instanceof SrcipError && error.code === 'Conflict')
}

/** One short text for one set, whatever its order. */
export function fingerprintOf(names: readonly Published[]): string {
  const hash = createHash('sha256')
  for (const line of names.map((entry) => `${keyOf(entry)} ${entry.target}\n`).sort()) hash.update(line)
  return hash.digest('hex')
}

/** What a write changes, by name; a line of the log holds at most this many of each. */
const shownNames = 50

interface Difference {
  readonly added: readonly string[]
  readonly removed: readonly string[]
}

function differenceOf(before: readonly Published[], after: readonly Published[]): Difference {
  const old = new Set(before.map(keyOf))
  const now = new Set(after.map(keyOf))
  return {
    added: after.filter((entry) => !old.has(keyOf(entry))).map((entry) => entry.name),
    removed: before.filter((entry) => !now.has(keyOf(entry))).map((entry) => entry.name),
  }
}

function shownDifference({added, removed}: Difference): Difference {
  return {added: added.slice(0, shownNames), removed: removed.slice(0, shownNames)}
}

/** Names that are known and not wanted: under a wanted wildcard they keep the answer that they have. */
function sparedNames(collection: HostCollection): string[] {
  const wanted = new Set(collection.hosts.map((host) => host.name))
  const names = collection.excluded.map((entry) => entry.name)
  return [...new Set(names)].filter((name) => name !== '' && !wanted.has(name) && isExactName(name))
}

function isExactName(name: string): boolean {
  const read = readName(name)
  return read.ok && !read.wildcard
}
