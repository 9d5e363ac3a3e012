import {readdirSync, readFileSync} from 'node:fs'
import {parse as parseYaml} from 'yaml'
import {seeded, type Random} from './random.ts'

/** One input of the differential test. Paths are below a folder of the caller's, which adds its name as variable `HERE`. */
export interface CorefileCase {
  readonly corefile: Uint8Array
  /** Relative path to content. */
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly env: ReadonlyMap<string, string>
  /** Whether directive names are checked. */
  readonly checked: boolean
  /** Where the text came from, for the counts. */
  readonly origin: 'vector' | 'field' | 'grammar'
}

const cases = new URL('../cases/', import.meta.url)

interface Vector {
  readonly id: string
  readonly corefile: string
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

const vectors = (parseYaml(readFileSync(new URL('corefile-vectors.yaml', cases), 'utf8')) as {vectors: Vector[]})
  .vectors
const field: readonly Uint8Array[] = readdirSync(new URL('corefiles/', cases))
  .sort()
  .map((name) =>
    readFileSync(new URL(`corefiles/${name}`, cases), 'utf8').replaceAll('import /etc/coredns/', 'import {$HERE}/'),
  )
  .map((text) => new TextEncoder().encode(text))

const encoder = new TextEncoder()

/** The case number `index` of a run with that seed; each case depends on these two numbers only. */
export function corefileCase(seed: number, index: number): CorefileCase {
  const random = seeded((seed ^ Math.imul(index + 1, 0x9e3779b1)) >>> 0)
  const kind = random.next()
  if (kind < 0.3) return fromVector(random)
  if (kind < 0.5) return fromField(random)
  return fromGrammar(random)
}

function fromVector(random: Random): CorefileCase {
  const vector = random.pick(vectors)
  const files = new Map<string, Uint8Array>(
    Object.entries(vector.files ?? {}).map(([path, text]) => [path, encoder.encode(text)]),
  )
  for (const [path, bytes] of files) if (random.chance(0.3)) files.set(path, mutate(bytes, random, 1))
  return {
    corefile: mutate(encoder.encode(vector.corefile), random, random.below(4)),
    files,
    env: new Map(Object.entries(vector.env ?? {})),
    checked: random.chance(0.5),
    origin: 'vector',
  }
}

function fromField(random: Random): CorefileCase {
  const files = new Map<string, Uint8Array>()
  if (random.chance(0.5))
    files.set('custom/x.override', mutate(encoder.encode('log\nerrors\n'), random, random.below(2)))
  if (random.chance(0.3)) files.set('custom/a.server', encoder.encode('corp.example {\n  forward . 192.0.2.1\n}\n'))
  return {
    corefile: mutate(random.pick(field), random, random.below(5)),
    files,
    env: new Map(),
    checked: random.chance(0.5),
    origin: 'field',
  }
}

const words = [
  ...['errors', 'log', 'reload', 'cache 30', 'forward . /etc/resolv.conf', 'loop', 'loadbalance', 'ready', 'whoami'],
  ...['rewrite name exact a.example b.example', 'rewrite stop', 'template IN A .', 'hosts', 'health', 'bind 127.0.0.1'],
  ...['kubernetes cluster.local in-addr.arpa', 'prometheus :9153', '"errors"', 'view v', 'log {$NAME}', '{$DIRECTIVE}'],
  ...['log "a\nb" c', 'errors "x\\"y\\z"', 'log {%NAME%}{$OTHER}', 'cache {$NONE}', 'log é日本 \u200b', 'log a#b c'],
]
const arguments_ = [
  'lameduck 5s',
  'fallthrough',
  'ttl 30',
  'class error',
  'match "^a\\.b$"',
  '{',
  '}',
  'expr a',
  '""',
  'a,',
]
const keys = [
  '.',
  '.:53',
  'example.org',
  'dns://.:53',
  'tls://a.example:853',
  '10.0.0.0/24',
  'b.example:{$PORT}',
  '"q.example"',
]
const odd = [
  '{',
  '}',
  '"',
  '\\',
  '#',
  ',',
  '\r',
  '\n',
  '\r\n',
  '\t',
  ' ',
  '\u00a0',
  '\u0085',
  '\u2028',
  '\ufeff',
  '\u200b',
]
const oddWords = [
  'import',
  'import x',
  '(a)',
  '{$A}',
  '{%A%}',
  '{$}',
  '{%%}',
  '""',
  '#',
  '\u3000',
  '\u000b',
  '\u000c',
  '\u0000',
]
const badBytes = [
  [0xff],
  [0xc3],
  [0xe2, 0x82],
  [0xed, 0xa0, 0x80],
  [0xf0, 0x9f],
  [0xc0, 0xaf],
  [0xf4, 0x90, 0x80, 0x80],
  [0x80],
]

/** Paths and patterns in every state of repair: wildcards, escapes and open classes in names and folders, odd slashes. */
function importPattern(random: Random): string {
  const folder = random.pick([
    'lib',
    'lib',
    'custom',
    'custom',
    'l?b',
    '*',
    'missing',
    '',
    'lib/..',
    'missing/..',
    'li\\b',
  ])
  const pieces = [
    'a',
    '.part',
    'x',
    '.override',
    '*',
    '*',
    '?',
    '\\',
    '\\a',
    '\\*',
    '\\[',
    '[',
    ']',
    '^',
    '-',
    '/',
    '/.',
    'é',
  ]
  let name = random.pick(['', 'a.part', 'x.override', '*.override', '?.part', '10.override'])
  for (let left = random.below(4); left > 0; left--) {
    const at = random.below(name.length + 1)
    name = name.slice(0, at) + random.pick(pieces) + name.slice(at)
  }
  return `${random.chance(0.3) ? '{$HERE}/' : ''}${folder}${folder === '' ? '' : random.pick(['/', '/', '/', '//', '/./'])}${name}`
}

/** A file from the grammar: mostly right, with snippets, imports, environment and comments. */
function fromGrammar(random: Random): CorefileCase {
  const files = new Map<string, Uint8Array>()
  const snippets: string[] = []
  const lines: string[] = []
  const imports = (): string => {
    if (random.chance(0.15)) return `import ${importPattern(random)}`
    const names = [
      ...snippets,
      ...files.keys(),
      'custom/*.override',
      'lib/?.part',
      '{$FILE}',
      'missing',
      'lib',
      'lib/*',
    ]
    return `import ${random.pick(names)}`
  }
  const directive = (indent: string, depth: number): void => {
    if (random.chance(0.18)) {
      lines.push(indent + imports())
      return
    }
    const comment = random.chance(0.08) ? random.pick([' # note { }', '#glued', '# "']) : ''
    const nested = random.chance(0.3) && depth < 3
    lines.push(`${indent}${random.pick(words)}${nested ? ' {' : ''}${comment}`)
    if (!nested) return
    for (let left = random.below(3); left > 0; left--) {
      if (random.chance(0.15)) directive(`${indent}  `, depth + 1)
      else
        lines.push(
          `${indent}  ${random.chance(0.9) ? random.pick(arguments_.filter((one) => one.length > 1)) : random.pick(arguments_)}`,
        )
    }
    lines.push(`${indent}}`)
  }
  const body = (indent: string): void => {
    for (let left = random.below(5); left > 0; left--) directive(indent, 0)
  }
  const textOf = (write: () => void): Uint8Array => {
    const outer = lines.splice(0)
    write()
    const text = lines.splice(0).join('\n') + (random.chance(0.8) ? '\n' : '')
    lines.push(...outer)
    return encoder.encode(text)
  }
  if (random.chance(0.3))
    files.set(
      'lib/a.part',
      textOf(() => body('')),
    )
  if (random.chance(0.3))
    files.set(
      'custom/x.override',
      textOf(() => body('  ')),
    )
  if (random.chance(0.15))
    files.set(
      'custom/10.override',
      textOf(() => body('')),
    )
  for (let left = random.below(6); left > 0; left--) {
    const what = random.next()
    if (what < 0.25) {
      const name = random.pick(['one', 'two', 'three', 'a b'.slice(0, 1)])
      lines.push(`(${name}) {`)
      body('  ')
      lines.push('}')
      snippets.push(name)
    } else if (what < 0.32) lines.push(imports())
    else if (what < 0.36) lines.push('# a comment { with "braces" }')
    else block(random, lines, body)
  }
  const text = lines.join(random.chance(0.1) ? '\r\n' : '\n') + (random.chance(0.85) ? '\n' : '')
  return {
    corefile: mutate(encoder.encode(text), random, random.chance(0.6) ? 0 : 1 + random.below(2)),
    files,
    env: new Map([
      ['NAME', 'value'],
      ['PORT', '53'],
      ['OTHER', 'a b'],
      ['DIRECTIVE', random.pick(['errors', 'unknown', 'import', ''])],
      ['FILE', random.pick(['lib/a.part', 'one', ''])],
      ['A', random.pick(['{$NAME}', '{', 'import', 'x,', '\n'])],
    ]),
    checked: random.chance(0.3),
    origin: 'grammar',
  }
}

function block(random: Random, lines: string[], body: (indent: string) => void): void {
  const header = Array.from({length: 1 + random.below(2)}, () => random.pick(keys))
  const brace = random.next()
  const joined = header.join(random.pick([' ', ', ', ',\n']))
  if (brace < 0.9) lines.push(`${random.chance(0.05) ? '} ' : ''}${joined} {`)
  else if (brace < 0.95) lines.push(joined, '{')
  else lines.push(joined)
  body('    ')
  if (brace < 0.95) lines.push(random.pick(['}', '}', '}', '  }', '} # end']))
}

/** Breaks bytes in `times` places: odd characters, bad UTF-8, lines and words cut, doubled, swapped. */
function mutate(bytes: Uint8Array, random: Random, times: number): Uint8Array {
  let result = bytes
  for (let left = times; left > 0; left--) result = mutateOnce(result, random)
  return result
}

function mutateOnce(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random.below(bytes.length + 1)
  const kind = random.below(8)
  if (kind === 0) return replace(bytes, at, 0, encoder.encode(random.pick(odd)))
  if (kind === 1) return replace(bytes, at, 0, encoder.encode(` ${random.pick(oddWords)} `))
  if (kind === 2) return replace(bytes, at, 0, Uint8Array.from(random.pick(badBytes)))
  if (kind === 3) return replace(bytes, at, 1 + random.below(3), new Uint8Array())
  const [start, end] = kind === 4 ? wordAround(bytes, at) : lineAround(bytes, at)
  const piece = bytes.subarray(start, end)
  if (kind <= 5) return replace(bytes, start, end - start, new Uint8Array())
  if (kind === 6) return replace(bytes, end, 0, piece)
  return replace(
    replace(bytes, start, end - start, new Uint8Array()),
    random.below(bytes.length - piece.length + 1),
    0,
    piece,
  )
}

function lineAround(bytes: Uint8Array, at: number): [number, number] {
  const start = at === 0 ? 0 : bytes.lastIndexOf(0x0a, at - 1) + 1
  const end = bytes.indexOf(0x0a, at)
  return [start, end === -1 ? bytes.length : end + 1]
}

function wordAround(bytes: Uint8Array, at: number): [number, number] {
  let start = at
  let end = at
  while (start > 0 && (bytes[start - 1] as number) > 0x20) start--
  while (end < bytes.length && (bytes[end] as number) > 0x20) end++
  return [start, end]
}

function replace(bytes: Uint8Array, at: number, removed: number, inserted: Uint8Array): Uint8Array {
  const tail = bytes.subarray(Math.min(bytes.length, at + removed))
  const result = new Uint8Array(at + inserted.length + tail.length)
  result.set(bytes.subarray(0, at))
  result.set(inserted, at)
  result.set(tail, at + inserted.length)
  return result
}
