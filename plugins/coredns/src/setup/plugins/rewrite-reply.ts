import {atLeast} from '../../directives.ts'
import {normalizeName} from '../../simulate/dns-name.ts'
import type {MatchType, NameMatch, RuleBody, RuleReader} from './rewrite-rule.ts'
import {matchTypeOf, rcodeOf} from './rewrite-rule.ts'

/** `rewrite ttl [match] NAME SECONDS`. */
export function readTtlRule(args: readonly string[], reader: RuleReader): RuleBody {
  if (args.length < 2) return reader.refuse(`too few (${args.length}) arguments for a ttl rule`)
  const text = args.length > 3 ? '' : (args.at(-1) ?? '')
  const range = readTtl(text, atLeast(reader.context.version, '1.9.4'))
  if (range === undefined) return reader.refuse(`invalid TTL '${text}' for a ttl rule`)
  const match = readMatch(args.slice(0, -1), 'ttl', reader)
  return {field: 'ttl', match, min: range[0], max: range[1]}
}

function readTtl(text: string, ranges: boolean): [number, number] | undefined {
  const number = (digits: string): number | undefined =>
    /^\d+$/.test(digits) && Number(digits) <= 0xffff_ffff ? Number(digits) : undefined
  const parts = text.split('-')
  if (parts.length === 1) {
    const value = number(text)
    return value === undefined ? undefined : [value, value]
  }
  if (parts.length !== 2 || !ranges || text === '-') return undefined
  const low = parts[0] === '' ? 0 : number(parts[0] ?? '')
  const high = parts[1] === '' ? 2_147_483_647 : number(parts[1] ?? '')
  return low === undefined || high === undefined || low > high ? undefined : [low, high]
}

/** `rewrite rcode [match] NAME FROM TO`. */
export function readRcodeRule(args: readonly string[], reader: RuleReader): RuleBody {
  if (args.length < 3) return reader.refuse(`too few (${args.length}) arguments for a rcode rule`)
  const [fromText = '', toText = ''] = args.length > 4 ? [] : args.slice(-2)
  const from = rcodeOf(fromText)
  if (from === undefined) return reader.refuse(`invalid matching RCODE '${fromText}' for a rcode rule`)
  const to = rcodeOf(toText)
  if (to === undefined) return reader.refuse(`invalid replacement RCODE '${toText}' for a rcode rule`)
  return {field: 'rcode', match: readMatch(args.slice(0, -2), 'rcode', reader), from, to}
}

/** One word is an exact name; two are a match type and what it compares. */
function readMatch(args: readonly string[], field: 'ttl' | 'rcode', reader: RuleReader): NameMatch {
  const [first = '', second] = args
  if (second === undefined) return {type: 'exact', from: normalizeName(first)}
  const type = matchTypeOf(first)
  if (type === undefined) {
    return reader.refuse(`${field} rule supports only exact, prefix, suffix, substring, and regex name matching`)
  }
  if (type !== 'regex') return {type, from: normalizeName(second)}
  const pattern = reader.pattern(second, () => `invalid regex pattern in a ${field} rule: ${second}`)
  return {type, from: second, pattern}
}

/** `rewrite cname [match] FROM TO`: the target of CNAMEs in the reply. */
export function readCnameRule(args: readonly string[], reader: RuleReader): RuleBody {
  if (args.length !== 2 && args.length !== 3)
    return reader.refuse(`too few (${args.length}) arguments for a cname rule`)
  let type: MatchType = 'exact'
  if (args.length === 3) {
    const named = matchTypeOf(args[0] ?? '')
    if (named === undefined) return reader.refuse(`unknown cname rewrite type: ${(args[0] ?? '').toLowerCase()}`)
    type = named
  }
  const [from = '', to = ''] = args.slice(-2).map((arg) => arg.toLowerCase())
  if (type === 'regex') {
    // Before 1.14.2 a pattern that does not compile is only met, and then panics, when a CNAME is answered.
    const pattern = reader.pattern(from, (why) => `invalid cname rewrite regex pattern: ${why}`)
    return {field: 'cname', match: {type, from, pattern}, to}
  }
  // Final dots are added for exact rules only, and only since 1.14.7: before, names without one never match.
  const dotted = type === 'exact' && atLeast(reader.context.version, '1.14.7')
  return {field: 'cname', match: {type, from: dotted ? normalizeName(from) : from}, to: dotted ? normalizeName(to) : to}
}
