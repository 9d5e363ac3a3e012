import type {Log} from '../kube/index.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFormat = 'json' | 'text'

const rank: Readonly<Record<LogLevel, number>> = {debug: 0, info: 1, warn: 2, error: 3}

/**
 * One line a message: JSON (`ts`, `level`, `msg`, then the fields), or the same as text for a person at a terminal.
 * An Error in a field becomes its message; nothing is printed that `JSON.stringify` cannot carry.
 */
export function createLog(options: {
  readonly level: LogLevel
  readonly format: LogFormat
  readonly write: (line: string) => void
  /** Milliseconds since 1970. */
  readonly wall: () => number
}): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields: Readonly<Record<string, unknown>> = {}): void => {
      if (rank[level] < rank[options.level]) return
      const plain = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, readable(value)]))
      const time = new Date(options.wall()).toISOString()
      if (options.format === 'json') {
        options.write(`${JSON.stringify({ts: time, level, msg: message, ...plain})}\n`)
        return
      }
      const rest = Object.entries(plain).map(([key, value]) => ` ${key}=${JSON.stringify(value) ?? 'undefined'}`)
      options.write(`${time} ${level.padEnd(5)} ${message}${rest.join('')}\n`)
    }
  return {debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error')}
}

function readable(value: unknown): unknown {
  if (value instanceof Error) return value.message
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Map || value instanceof Set) return [...(value as Iterable<unknown>)]
  return value
}
