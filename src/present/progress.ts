import {closeSync, openSync, writeSync} from 'node:fs'
import {SrcipError} from '../model/errors.ts'
import {formatDuration} from '../model/duration.ts'
import type {EventSink, SrcipEvent} from '../model/events.ts'
import {printable} from './table.ts'

export interface EventSinkOptions {
  /** `jsonl` (to stderr, and then nothing else goes there), `jsonl=FILE`, or undefined for plain lines on stderr. */
  readonly target: string | undefined
  readonly color: boolean
}

/**
 * The listener that a command hands to long work. Throws a usage error when the target cannot be understood or opened.
 * `close` flushes a file; calling it twice is harmless.
 */
export function createEventSink(options: EventSinkOptions): {sink: EventSink; close: () => void} {
  const {target} = options
  if (target === undefined) return {sink: plainLines(options.color), close: () => {}}
  if (target === 'jsonl') return {sink: (event) => process.stderr.write(jsonLine(event)), close: () => {}}
  const file = /^jsonl=(.+)$/.exec(target)?.[1]
  if (file === undefined) {
    throw new SrcipError('Usage', `--events expects jsonl or jsonl=FILE, not ${JSON.stringify(target)}`)
  }
  const plain = plainLines(options.color)
  let descriptor: number | undefined = openEventFile(file)
  return {
    sink: (event) => {
      if (descriptor !== undefined) writeSync(descriptor, jsonLine(event))
      plain(event)
    },
    close: () => {
      if (descriptor !== undefined) closeSync(descriptor)
      descriptor = undefined
    },
  }
}

function openEventFile(file: string): number {
  try {
    return openSync(file, 'a', 0o600)
  } catch (error) {
    throw new SrcipError('Usage', `cannot write events to ${file}: ${(error as Error).message}`, {cause: error})
  }
}

function jsonLine(event: SrcipEvent): string {
  return `${JSON.stringify({apiVersion: 'srcip.dev/v1alpha1', time: new Date().toISOString(), ...event})}\n`
}

function plainLines(color: boolean): EventSink {
  const started = new Map<string, number>()
  const paint = (code: number, text: string) => (color ? `\u001b[${code}m${text}\u001b[0m` : text)
  const elapsed = (step: string) => {
    const since = started.get(step)
    return since === undefined ? '' : ` (${formatDuration(performance.now() - since)})`
  }
  // Escaped piece by piece: a whole line holds our own colours, too.
  return (event) => {
    switch (event.type) {
      case 'step-started':
        started.set(event.step, performance.now())
        write(`  ${printable(event.title)} ...`)
        break
      case 'step-progress':
        write(
          `    ${printable(event.message)}${event.total === undefined ? '' : ` (${event.done ?? 0}/${event.total})`}`,
        )
        break
      case 'step-done':
        write(
          `${paint(32, '✔')} ${printable(event.title)}${event.changed ? '' : ', nothing to change'}${event.detail === undefined ? '' : `: ${printable(event.detail)}`}${elapsed(event.step)}`,
        )
        break
      case 'step-failed':
        write(`${paint(31, '✘')} ${printable(event.title)}: ${printable(event.reason)}${elapsed(event.step)}`)
        break
      case 'warning':
        write(`${paint(33, 'warning:')} ${printable(event.message)}`)
        break
      case 'info':
        write(printable(event.message))
        break
    }
  }
}

function write(line: string): void {
  process.stderr.write(`${line}\n`)
}
