import {closeSync, openSync, writeSync} from 'node:fs'
import type {WriteStream} from 'node:tty'
import {formatBytes} from '../../model/bytes.ts'
import {SrcipError} from '../../model/errors.ts'
import type {CopyEvent, CopyEventSink} from '../../model/mirror-events.ts'
import {printable} from '../table.ts'

/** Listens to a copy. `close` leaves the terminal as it was. */
export interface MirrorProgress {
  readonly sink: CopyEventSink
  close(): void
}

export interface ProgressOptions {
  /** `jsonl` (stderr belongs to the events then), `jsonl=FILE`, or undefined. */
  readonly target: string | undefined
  readonly terminal: WriteStream | NodeJS.WriteStream
}

/** Bars for a terminal, plain lines for a log, JSON lines for scripts. All on stderr. */
export function createMirrorProgress({target, terminal}: ProgressOptions): MirrorProgress {
  if (target === 'jsonl') return {sink: (event) => void process.stderr.write(jsonLine(event)), close: () => {}}
  const view = terminal.isTTY === true && process.env['CI'] === undefined ? bars(terminal) : lines()
  if (target === undefined) return view
  const file = /^jsonl=(.+)$/.exec(target)?.[1]
  if (file === undefined)
    throw new SrcipError('Usage', `--events expects jsonl or jsonl=FILE, not ${JSON.stringify(target)}`)
  let handle: number | undefined
  try {
    handle = openSync(file, 'a', 0o600)
  } catch (error) {
    throw new SrcipError('Usage', `cannot write events to ${file}: ${(error as Error).message}`, {cause: error})
  }
  return {
    sink(event) {
      if (handle !== undefined) writeSync(handle, jsonLine(event))
      view.sink(event)
    },
    close() {
      if (handle !== undefined) closeSync(handle)
      handle = undefined
      view.close()
    },
  }
}

function jsonLine(event: CopyEvent): string {
  return `${JSON.stringify({apiVersion: 'srcip.dev/v1alpha1', time: new Date().toISOString(), ...event})}\n`
}

/** What both views say once, as a line; undefined for what only bars show. */
export function lineOf(event: CopyEvent): string | undefined {
  switch (event.type) {
    case 'item.done':
      return `${event.status === 'unchanged' ? 'already there' : event.status}: ${event.item}`
    case 'item.failed':
      return `failed: ${event.item}: ${event.reason}`
    case 'extra.skipped':
      return `left out: ${event.name} of ${event.subject}: ${event.reason}`
    case 'blob.retry':
      return `again: ${event.digest}: ${event.reason}`
    case 'host.wait':
      return `${event.host} asks for a pause (${event.reason}): ${(event.waitMs / 1000).toFixed(1)} s`
    case 'tag.conflict':
      return `${event.repository}:${event.tag} names ${event.held} already`
    case 'warning':
      return `warning: ${event.message}`
    default:
      return undefined
  }
}

function lines(): MirrorProgress {
  const sums = new Sums()
  let shown = performance.now()
  return {
    sink(event) {
      sums.take(event)
      const line = lineOf(event)
      if (line !== undefined) process.stderr.write(`${printable(line)}\n`)
      if (performance.now() - shown < 10_000) return
      shown = performance.now()
      process.stderr.write(`${sums.line()}\n`)
    },
    close() {},
  }
}

/** Totals of a run. Bytes count when they are verified, so the sum never runs backwards. */
export class Sums {
  readonly active = new Map<string, {done: number; size: number}>()
  readonly #counted = new Set<string>()
  readonly #started = performance.now()
  done = 0
  moved = 0
  total = 0

  take(event: CopyEvent): void {
    switch (event.type) {
      case 'item.total':
        this.total += event.bytes
        break
      case 'blob.start':
        this.active.set(event.digest, {done: 0, size: event.size})
        break
      case 'blob.progress': {
        const entry = this.active.get(event.digest)
        if (entry !== undefined) entry.done = Math.max(entry.done, event.done)
        break
      }
      case 'blob.skip':
      case 'blob.done':
        this.active.delete(event.digest)
        if (event.type === 'blob.done') this.moved += event.size
        if (!this.#counted.has(event.repository + event.digest)) this.done += event.size
        this.#counted.add(event.repository + event.digest)
        break
      default:
        break
    }
  }

  line(): string {
    const seconds = Math.max(0.1, (performance.now() - this.#started) / 1000)
    const flying = [...this.active.values()].reduce((sum, {done}) => sum + done, 0)
    const rate = (this.moved + flying) / seconds
    const left = Math.max(0, this.total - this.done - flying)
    const time = rate > 0 && left > 0 ? `, ${formatTime(left / rate)} left` : ''
    return `${formatBytes(this.done)} of ${formatBytes(Math.max(this.total, this.done))}, ${formatBytes(Math.round(rate))}/s${time}`
  }
}

function formatTime(seconds: number): string {
  if (seconds < 60) return `${Math.ceil(seconds)} s`
  return seconds < 3600
    ? `${Math.floor(seconds / 60)}m${Math.ceil(seconds % 60)}s`
    : `${Math.floor(seconds / 3600)}h${Math.ceil((seconds % 3600) / 60)}m`
}

/** Blobs worth a bar of their own. */
const barFrom = 1024 * 1024

function bars(terminal: WriteStream | NodeJS.WriteStream): MirrorProgress {
  const sums = new Sums()
  let height = 0
  let last = 0
  const erase = (): string => (height === 0 ? '' : `\u001b[${height}A\u001b[J`)
  const draw = (before: string): void => {
    const columns = terminal.columns ?? 80
    const rows = [...sums.active].filter(([, {size}]) => size >= barFrom).slice(0, 6)
    const text = [
      ...rows.map(([digest, {done, size}]) => barLine(digest, done, size, columns)),
      sums.line().slice(0, columns - 1),
    ]
    terminal.write(`${erase()}${before}${text.join('\n')}\n`)
    height = text.length
    last = performance.now()
  }
  return {
    sink(event) {
      sums.take(event)
      const line = lineOf(event)
      if (line !== undefined) draw(`${printable(line)}\n`)
      else if (performance.now() - last >= 500) draw('')
    },
    close() {
      terminal.write(erase())
      height = 0
    },
  }
}

function barLine(digest: string, done: number, size: number, columns: number): string {
  const width = Math.max(10, Math.min(40, columns - 50))
  const full = Math.floor((width * done) / Math.max(1, size))
  return `${digest.slice(7, 19)} [${'='.repeat(full)}${' '.repeat(width - full)}] ${formatBytes(done)} of ${formatBytes(size)}`.slice(
    0,
    columns - 1,
  )
}
