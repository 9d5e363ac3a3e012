import {domainToASCII} from 'node:url'

/** A name as DNS carries it, or the reason why it is none. */
export type ReadName =
  | {readonly ok: true; readonly name: string; readonly wildcard: boolean}
  | {readonly ok: false; readonly name: string; readonly reason: string}

const labelPattern = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/
const onlyAscii = /^[\x20-\x7e]*$/
/** Characters that a non-ASCII name may never hold: the URL parser would read them as something else than a name. */
const reserved = /[\x00-\x2c\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]/

/** IPv4 in dotted form, or anything with a colon, which no name has: IPv6, with or without brackets. */
function isAddress(text: string): boolean {
  return text.includes(':') || /^\d{1,3}(\.\d{1,3}){3}$/.test(text)
}

/** A reason shown to a person: never longer than a line, control characters made visible. */
function shown(text: string): string {
  const visible = text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]/g, '?')
  return visible.length > 80 ? `${visible.slice(0, 77)}...` : visible
}

/**
 * Reads a host as a person or an API object spells it: lower case, A-labels (IDNA by UTS 46 as Node's URL parser does
 * it), without the final dot. A first label `*` makes a wildcard (RFC 4592 form, as Ingress and Gateway API use it).
 * Names are limited to what RFC 1123 lets a host have: 63 bytes a label, 253 in all.
 */
export function readName(text: string): ReadName {
  const bad = (reason: string): ReadName => ({ok: false, name: shown(text), reason})
  let name = text.endsWith('.') ? text.slice(0, -1) : text
  if (name === '') return bad('the name is empty')
  if (name === '*') return bad('answers every name: cannot be rewritten')
  const wildcard = name.startsWith('*.')
  let base = wildcard ? name.slice(2) : name
  if (base.includes('*')) return bad('a wildcard is only possible as the whole first label')
  if (isAddress(base)) return bad('is an IP address, not a name')
  if (!onlyAscii.test(base)) {
    if (reserved.test(base)) return bad('holds a character that no host name has')
    base = domainToASCII(base)
    if (base === '') return bad('is not a valid internationalised name (IDNA)')
  }
  base = base.toLowerCase()
  const labels = base.split('.')
  for (const label of labels) {
    if (label === '') return bad('has an empty label')
    if (label.length > 63) return bad('has a label over 63 bytes')
    if (!labelPattern.test(label)) return bad(`label ${JSON.stringify(shown(label))} is not a DNS label (RFC 1123)`)
  }
  if (isAddress(base)) return bad('is an IP address, not a name')
  if (base.length + (wildcard ? 2 : 0) > 253) return bad('is longer than 253 bytes')
  const last = labels[labels.length - 1] ?? ''
  if (last === 'localhost') return bad('localhost never leaves the pod (RFC 6761)')
  if (wildcard && labels.length === 1) return bad('a wildcard over a top-level domain would catch names of others')
  name = wildcard ? `*.${base}` : base
  return {ok: true, name, wildcard}
}

/** True if `name` (exact or wildcard) lies inside the wildcard `*.suffix` at any depth; the wildcard covers itself. */
export function underWildcard(name: string, wildcard: string): boolean {
  if (name === wildcard) return true
  const suffix = wildcard.slice(1)
  const bare = name.startsWith('*.') ? name.slice(2) : name
  return bare.endsWith(suffix) && bare.length > suffix.length
}

/** True if `--exclude PATTERN` leaves the name out: the pattern is the name itself, or `*.suffix` and the name lies below it. */
export function isExcludedBy(name: string, pattern: string): boolean {
  return pattern.startsWith('*.') ? underWildcard(name, pattern) : pattern === name
}

/**
 * What a route host and a listener host have in common (Gateway API, Listener.hostname and HTTPRoute.hostnames):
 * an exact name inside a wildcard, or the more specific of two wildcards. Undefined: nothing.
 */
export function intersectNames(route: string, listener: string): string | undefined {
  if (route === listener) return route
  if (listener.startsWith('*.') && underWildcard(route, listener)) return route
  if (route.startsWith('*.') && underWildcard(listener, route)) return listener
  return undefined
}

/** Order of names everywhere: by code unit, so that it does not depend on a locale. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
