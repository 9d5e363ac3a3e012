import type {ExcludedHost, Host, HostKind, HostSet} from '../model/hosts.ts'
import {compareText, isExcludedBy, readName} from './names.ts'
import type {ProxyService} from './targets.ts'

/** What a person chooses about the set as a whole. */
export interface HostOptions {
  /** Proxy Services found by label, or the one that `--target` names. Empty: names are left out, there is nowhere to send them. */
  readonly proxies: readonly ProxyService[]
  /** `--ingress-class`: names or `spec.controller` values. Absent or empty: every class. */
  readonly ingressClasses?: readonly string[]
  /** `--host`: names without an object. */
  readonly hosts?: readonly string[]
  /** `--exclude`: names, or `*.suffix` for everything below. */
  readonly exclude?: readonly string[]
  /** Where the names of `hosts` come from; default `flag`. A hosts file says `file:PATH`. */
  readonly hostsSource?: string
}

/** A HostSet and what else a person should know. */
export interface HostCollection extends HostSet {
  /** Whole sentences, each once, in a fixed order. */
  readonly warnings: readonly string[]
}

/** One wish for a name, before wishes for the same name are brought together. */
export interface Wish {
  readonly spelling: string
  /** How deep a wildcard of this source reaches. */
  readonly wildcardKind: Exclude<HostKind, 'exact'>
  readonly proxy: ProxyService
  readonly ports: readonly number[]
  /** `ingress/demo/web`. */
  readonly source: string
  /** creationTimestamp: the oldest wish decides where a name goes that two proxies claim (Gateway API conflict rule). */
  readonly created: string
}

interface Entry {
  readonly name: string
  readonly kind: HostKind
  readonly wishes: Wish[]
}

/** Gathers wishes and what was left out, and makes the HostSet of them. */
export class Collection {
  readonly #entries = new Map<string, Entry>()
  readonly #excluded = new Map<string, ExcludedHost>()
  readonly #warnings = new Set<string>()
  readonly #patterns: {pattern: string; spelling: string}[] = []

  constructor(exclude: readonly string[]) {
    for (const spelling of exclude) {
      const read = readName(spelling.startsWith('.') ? `*${spelling}` : spelling)
      if (read.ok) this.#patterns.push({pattern: read.name, spelling})
      else this.warn(`--exclude ${read.name}: ${read.reason}; it excludes nothing`)
    }
  }

  warn(sentence: string): void {
    this.#warnings.add(sentence)
  }

  /** Notes a name (empty: the object as a whole) that is left out. */
  leaveOut(name: string, reason: string, source: string): void {
    const read = name === '' ? undefined : readName(name)
    const entry = {name: read === undefined ? '' : read.name, reason, source}
    this.#excluded.set(JSON.stringify(entry), entry)
  }

  /** Takes a name in, or notes why not. */
  take(wish: Wish): void {
    const read = readName(wish.spelling)
    if (!read.ok) return this.leaveOut(wish.spelling, read.reason, wish.source)
    const excluded = this.#patterns.find(({pattern}) => isExcludedBy(read.name, pattern))
    if (excluded !== undefined)
      return this.leaveOut(read.name, `excluded by --exclude ${excluded.spelling}`, wish.source)
    const kind = read.wildcard ? wish.wildcardKind : 'exact'
    const key = `${read.name} ${kind}`
    const entry = this.#entries.get(key) ?? {name: read.name, kind, wishes: []}
    entry.wishes.push(wish)
    this.#entries.set(key, entry)
  }

  /** The set in its fixed order. */
  finish(): HostCollection {
    const hosts = [...this.#entries.values()].map((entry) => this.#settle(entry))
    return {
      hosts: hosts.sort(
        (a, b) => compareText(a.name, b.name) || compareText(a.kind, b.kind) || compareText(a.target, b.target),
      ),
      excluded: [...this.#excluded.values()].sort(
        (a, b) => compareText(a.name, b.name) || compareText(a.source, b.source) || compareText(a.reason, b.reason),
      ),
      warnings: [...this.#warnings].sort(compareText),
    }
  }

  /** One name, one target: DNS cannot give two answers that both are right. */
  #settle(entry: Entry): Host {
    const wishes = entry.wishes.sort(
      (a, b) =>
        compareText(a.created, b.created) ||
        compareText(a.source, b.source) ||
        compareText(a.proxy.target, b.proxy.target),
    )
    const target = wishes[0]?.proxy.target ?? ''
    const won = wishes.filter((wish) => wish.proxy.target === target)
    for (const wish of wishes) {
      if (wish.proxy.target === target) continue
      this.leaveOut(
        entry.name,
        `${wish.proxy.target} serves it too, the older ${wishes[0]?.source ?? ''} decides`,
        wish.source,
      )
    }
    return {
      name: entry.name,
      kind: entry.kind,
      target,
      ports: [...new Set(won.flatMap((wish) => wish.ports))].sort((a, b) => a - b),
      sources: [...new Set(won.map((wish) => wish.source))].sort(compareText),
    }
  }
}
