import {posix} from 'node:path'
import type {DnsState} from '../cluster-dns/types.ts'
import type {Host} from '../model/hosts.ts'
import type {Published} from './names-guard.ts'

/** A rewrite of ours could name as many as fit into a megabyte; more than this is not ours. */
const limit = 200_000

const fronts: readonly {readonly text: string; readonly kind: Exclude<Host['kind'], 'exact'>}[] = [
  {text: '(?:[^._][^.]*\\.)+', kind: 'wildcard-any-depth'},
  {text: '[^._][^.]*\\.', kind: 'wildcard-one-label'},
]

/**
 * The names that lines of ours publish: `rewrite name exact NAME TARGET.`, the packed patterns that the editor of
 * plugins/coredns writes, and `rewrite name NAME TARGET.` of ouroboros. Lines of any other shape give nothing; a name that is mapped to itself is spared, not
 * published. Needed to know what must not be lost when a source is out of sight.
 *
 * @param lines directive lines, one rule each, blanks around them not counted
 */
export function publishedNames(lines: Iterable<string>): Published[] {
  const found = new Map<string, Published>()
  const add = (name: string, kind: Host['kind'], target: string): void => {
    const key = `${kind} ${name}`
    if (!found.has(key) && found.size < limit) found.set(key, {name, kind, target: serviceOf(target)})
  }
  for (const line of lines) {
    const words = line.trim().split(/\s+/)
    if (words[0] !== 'rewrite' || words[1] !== 'name') continue
    const [, , form = '', from, target] = words
    if (from === undefined) continue
    // As ouroboros and hairpin-proxy write it: NAME TARGET, at most with a comment behind.
    if (target === undefined || target.startsWith('#')) add(form.replace(/\.$/, ''), 'exact', from)
    else if (form === 'exact') {
      const name = from.replace(/\.$/, '')
      if (name !== target.replace(/\.$/, '')) add(name, 'exact', target)
    } else if (form === 'regex') {
      for (const entry of expandPattern(from) ?? []) add(entry.name, entry.kind, target)
    }
  }
  return [...found.values()]
}

/** `NAME.NAMESPACE.svc.ZONE.` as `NAMESPACE/NAME`; any other name without its final dot. */
export function serviceOf(target: string): string {
  const [name, namespace, svc, ...zone] = target.replace(/\.$/, '').split('.')
  return svc === 'svc' && zone.length > 0 ? `${namespace}/${name}` : target.replace(/\.$/, '')
}

/** The names that a pattern of the editor's form takes; undefined for any other pattern. */
export function expandPattern(pattern: string): {name: string; kind: Host['kind']}[] | undefined {
  if (!pattern.startsWith('^') || !pattern.endsWith('\\.$')) return undefined
  const inner = pattern.slice(1, -'\\.$'.length)
  const front = fronts.find(({text}) => inner.startsWith(text))
  const body = front === undefined ? inner : inner.slice(front.text.length)
  const reader = new PatternReader(body)
  const names = reader.alternatives()
  if (names === undefined || !reader.atEnd) return undefined
  return names.map((name) =>
    front === undefined ? {name, kind: 'exact' as const} : {name: `*.${name}`, kind: front.kind},
  )
}

/** Reads the finite patterns of the editor: labels, `\.`, `(?:a|b)` and `(?:a\.)?`. */
class PatternReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get atEnd(): boolean {
    return this.#at === this.#text.length
  }

  alternatives(): string[] | undefined {
    const all: string[] = []
    for (;;) {
      const some = this.#sequence()
      if (some === undefined || all.length + some.length > limit) return undefined
      all.push(...some)
      if (this.#text[this.#at] !== '|') return all
      this.#at++
    }
  }

  #sequence(): string[] | undefined {
    let sofar = ['']
    for (;;) {
      const part = this.#part()
      if (part === 'end') return sofar
      if (part === undefined || sofar.length * part.length > limit) return undefined
      sofar =
        part.length === 1
          ? sofar.map((text) => text + (part[0] ?? ''))
          : sofar.flatMap((text) => part.map((more) => text + more))
    }
  }

  #part(): string[] | 'end' | undefined {
    const rest = this.#text.slice(this.#at, this.#at + 256)
    const literal = /^[a-z0-9_-]+/.exec(rest)
    if (literal !== null) {
      this.#at += literal[0].length
      return [literal[0]]
    }
    if (rest.startsWith('\\.')) {
      this.#at += 2
      return ['.']
    }
    if (rest.startsWith('(?:')) {
      this.#at += 3
      const inner = this.alternatives()
      if (inner === undefined || this.#text[this.#at] !== ')') return undefined
      this.#at++
      if (this.#text[this.#at] !== '?') return inner
      this.#at++
      return ['', ...inner]
    }
    return rest === '' || rest.startsWith('|') || rest.startsWith(')') ? 'end' : undefined
  }
}

const markerBegin = '# === BEGIN '
const markerEnd = '# === END '

/**
 * The names of ours in a state of cluster DNS: between our markers, in the key of ours that a glob imports, and, where an
 * upgrade has stripped the markers, on any line that leads to one of our proxies. All of them must survive a source that
 * is out of sight.
 *
 * @param targets proxy Services, `NAMESPACE/NAME`
 */
export function publishedInState(
  state: Pick<DnsState, 'corefile' | 'files'>,
  owner: string,
  targets: readonly string[],
): Published[] {
  const lines: string[] = []
  let inside = false
  for (const line of linesOf(state.corefile.bytes)) {
    if (line.startsWith(`${markerBegin}${owner}`)) inside = true
    else if (line.startsWith(`${markerEnd}${owner}`)) inside = false
    else if (inside || leadsTo(line, targets)) lines.push(line)
  }
  for (const [path, bytes] of state.files) {
    if (posix.basename(path).startsWith(`${owner}.`)) lines.push(...linesOf(bytes))
  }
  return publishedNames(lines)
}

function linesOf(bytes: Uint8Array): string[] {
  return Buffer.from(bytes)
    .toString('utf8')
    .split('\n')
    .map((line) => line.trim())
}

function leadsTo(line: string, targets: readonly string[]): boolean {
  const words = line.startsWith('rewrite name ') ? line.split(/\s+/) : []
  const target = words[4] === undefined || words[4].startsWith('#') ? words[3] : words[4]
  return target !== undefined && targets.includes(serviceOf(target))
}
