import {readFile} from 'node:fs/promises'
import {SrcipError} from '../model/errors.ts'
import {cleanText} from './text.ts'

type TomlValue = string | boolean | number | readonly TomlValue[]
interface TomlTable {
  [key: string]: TomlValue | TomlTable | TomlTable[]
}

/**
 * The part of TOML that registries.conf uses: tables, arrays of tables, strings, booleans, numbers, arrays of strings.
 * @throws SrcipError Usage with the line
 */
export function parseToml(text: string, from: string): TomlTable {
  const root: TomlTable = {}
  let table = root
  const fail = (at: number): never => {
    throw new SrcipError('Usage', `${from}, line ${at + 1}: cannot be read`, {object: from})
  }
  const lines = text.split(/\r?\n/)
  for (let at = 0; at < lines.length; at++) {
    const line = stripComment(lines[at] ?? '')
    if (line === '') continue
    const header = /^\[(\[)?\s*([A-Za-z0-9_."-]+)\s*\](\])?$/.exec(line)
    if (header !== null) {
      if ((header[1] === undefined) !== (header[3] === undefined)) fail(at)
      table =
        open(
          root,
          (header[2] ?? '').split('.').map((key) => key.replaceAll('"', '')),
          header[1] !== undefined,
        ) ?? fail(at)
      continue
    }
    const pair = /^("[^"]*"|[A-Za-z0-9_-]+)\s*=\s*(.*)$/.exec(line)
    if (pair === null) fail(at)
    let value = pair?.[2] ?? ''
    while (value.startsWith('[') && !value.endsWith(']') && at + 1 < lines.length)
      value += ` ${stripComment(lines[++at] ?? '')}`
    table[(pair?.[1] ?? '').replaceAll('"', '')] = readValue(value) ?? fail(at)
  }
  return root
}

function stripComment(line: string): string {
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const character = line[at] ?? ''
    if (quote !== '') {
      if (character === '\\' && quote === '"') at++
      else if (character === quote) quote = ''
    } else if (character === '"' || character === "'") quote = character
    else if (character === '#') return line.slice(0, at).trim()
  }
  return line.trim()
}

function open(root: TomlTable, path: readonly string[], list: boolean): TomlTable | undefined {
  let table = root
  for (const [at, key] of path.entries()) {
    if (key === '__proto__') return undefined
    const last = at === path.length - 1
    const before = Object.hasOwn(table, key) ? table[key] : undefined
    if (last && list) {
      const tables = before === undefined ? [] : before
      if (!Array.isArray(tables)) return undefined
      const next: TomlTable = {}
      tables.push(next)
      table[key] = tables
      return next
    }
    if (before === undefined) table = table[key] = {}
    else if (Array.isArray(before)) {
      const latest = before.at(-1)
      if (typeof latest !== 'object' || Array.isArray(latest)) return undefined
      table = latest
    } else if (typeof before === 'object') table = before as TomlTable
    else return undefined
  }
  return table
}

function readValue(text: string): TomlValue | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  const literal = /^'([^']*)'$/.exec(text)
  if (literal !== null) return literal[1] ?? ''
  if (/^"(?:[^"\\]|\\.)*"$/.test(text)) {
    try {
      return JSON.parse(text) as string
    } catch {
      return undefined
    }
  }
  if (!text.startsWith('[') || !text.endsWith(']')) return undefined
  const values: TomlValue[] = []
  for (const [part] of text.slice(1, -1).matchAll(/"(?:[^"\\]|\\.)*"|'[^']*'|[^\s,]+/g)) {
    const value = readValue(part)
    if (value === undefined) return undefined
    values.push(value)
  }
  return values
}

/** What a registries.conf says about reading. */
export interface RegistriesConf {
  /** Places of a repository, mirrors first; the place itself unless it is blocked. */
  placesOf(host: string, repository: string): readonly {readonly host: string; readonly repository: string}[]
  /** Hosts that the file calls insecure; it depends on the caller what becomes of that. */
  readonly insecure: readonly string[]
}

interface Rule {
  readonly prefix: string
  readonly location: string
  readonly blocked: boolean
  readonly mirrors: readonly string[]
}

function textOf(table: TomlTable, key: string): string | undefined {
  const value = table[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function tablesOf(table: TomlTable, key: string): TomlTable[] {
  const value = table[key]
  return Array.isArray(value)
    ? value.filter((one): one is TomlTable => typeof one === 'object' && !Array.isArray(one))
    : []
}

/** Reads `[[registry]]` entries of containers-registries.conf(5): prefix, location, blocked, mirrors. */
export function readRules(text: string, from: string): RegistriesConf {
  const insecure = new Set<string>()
  const note = (table: TomlTable, location: string | undefined): void => {
    if (table['insecure'] === true && location !== undefined) insecure.add(location.split('/')[0] ?? '')
  }
  const rules = tablesOf(parseToml(text, from), 'registry').map((table): Rule => {
    const location = textOf(table, 'location')
    const prefix = textOf(table, 'prefix') ?? location
    if (prefix === undefined)
      throw new SrcipError('Usage', `${from}: a [[registry]] has neither prefix nor location`, {object: from})
    note(table, location)
    const mirrors = tablesOf(table, 'mirror').flatMap((mirror) => {
      note(mirror, textOf(mirror, 'location'))
      return textOf(mirror, 'location') ?? []
    })
    return {prefix, location: location ?? prefix, blocked: table['blocked'] === true, mirrors}
  })
  return {insecure: [...insecure], placesOf: (host, repository) => placesOf(rules, host, repository)}
}

function placesOf(rules: readonly Rule[], host: string, repository: string): {host: string; repository: string}[] {
  const full = `${host}/${repository}`
  const rule = rules
    .filter(({prefix}) => covers(prefix, host, full))
    .sort((one, other) => other.prefix.length - one.prefix.length)[0]
  if (rule === undefined) return [{host, repository}]
  // A wildcard prefix (`*.example.com`) says nothing about the rest of the path, so that stays whole.
  const rest = rule.prefix.startsWith('*.') ? full.slice(host.length) : full.slice(rule.prefix.length)
  const places = [...rule.mirrors, ...(rule.blocked ? [] : [rule.prefix.startsWith('*.') ? host : rule.location])].map(
    (place) => place + rest,
  )
  return places.map((place) => {
    const slash = place.indexOf('/')
    if (slash <= 0)
      throw new SrcipError('Usage', `registries.conf makes ${cleanText(place)} of ${full}, which names no repository`)
    return {host: place.slice(0, slash), repository: place.slice(slash + 1)}
  })
}

function covers(prefix: string, host: string, full: string): boolean {
  if (prefix.startsWith('*.')) return host.endsWith(prefix.slice(1))
  return full === prefix || full.startsWith(`${prefix}/`)
}

export async function readRegistriesConf(path: string): Promise<RegistriesConf> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SrcipError('Usage', `${path} cannot be read: ${error.code}`, {object: path, cause: error})
  })
  return readRules(text, path)
}
