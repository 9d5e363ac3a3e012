import {atLeast} from '../directives.ts'
import {onceMessage} from '../setup/plugins/only-once.ts'
import {readCache} from '../setup/plugins/cache.ts'
import {contextOf, dispenserOf} from '../setup/check-setup.ts'
import {isSubdomain, longestZone} from '../simulate/dns-name.ts'
import {isSetupError} from '../simulate/chain/compile-block.ts'
import type {CorefileError} from '../types.ts'
import type {LintId} from './rule-table.ts'
import type {Check, Found} from './subject.ts'
import {found, placeOf} from './subject.ts'

/** Texts of setup errors that have a rule of their own. */
const known: readonly (readonly [pattern: RegExp, id: LintId, remedy: string])[] = [
  [/this plugin can only be used once/, 'CF080', 'put everything into one of them'],
  [/^plugin\/hosts: .*unknown property '/s, 'CF083', 'put entries before fallthrough'],
  [/^plugin\/cache: cache TTL can not be zero or negative/, 'CF084', 'give a number of seconds, or take cache out'],
  [/^plugin\/reload: (interval|jitter) value must be/, 'CF085', 'use "reload", or 2s and more'],
  [
    /^plugin\/forward: (not an IP address|invalid address)/,
    'CF086',
    'give an IP address, or the path of a resolv.conf',
  ],
  [
    /^plugin\/(health|ready|prometheus|pprof): address .*(missing port|too many colons)/,
    'CF087',
    'write the address with a colon: ":8181" or "127.0.0.1:8181"',
  ],
]

/** In: an error of setup. Out: the finding for it: a rule of its own, or the general one. */
export function setupFinding(error: CorefileError): Found {
  const own = known.find(([pattern]) => pattern.test(error.message))
  const [, id, remedy] = own ?? [undefined, 'CF082' as const, 'correct the arguments: CoreDNS refuses the file']
  return found(id, {file: error.file, line: error.line}, error.message, remedy)
}

const setupErrors: Check = ({setup, parsed, inspected}) => {
  if (parsed.error !== undefined || inspected.error !== undefined) return []
  return setup.errors
    .filter(({message}) => known.some(([pattern]) => pattern.test(message)))
    .flatMap((error) => {
      // Copies of one snippet, lines swallowed by another, braces on the wrong line: these rules tell the cause.
      if (error.message.includes(onceMessage) && causeElsewhere(parsed.blocks[error.block ?? -1], error)) return []
      return [setupFinding(error)]
    })
}

function causeElsewhere(
  block:
    | {
        readonly directives: readonly {
          readonly name: string
          readonly tokens: readonly {readonly text: string; readonly line: number}[]
          readonly via: readonly unknown[]
        }[]
      }
    | undefined,
  error: CorefileError,
): boolean {
  const plugin = error.message.slice('plugin/'.length, error.message.indexOf(':'))
  const uses = block?.directives.filter(({name}) => name === plugin) ?? []
  const brace = uses.some(({tokens}) => {
    const at = tokens.findIndex(({text}) => text === '{')
    return at > 0 && (tokens[at]?.line ?? 0) > (tokens[at - 1]?.line ?? 0)
  })
  return brace || uses.every(({via}) => via.length > 0)
}

const countsOnce: Readonly<Record<string, string>> = {
  reload: 'the first counts',
  health: 'the last counts',
  root: 'the last counts',
  debug: 'one is enough',
  local: 'one is enough',
  timeouts: 'the last counts',
  loadbalance: 'the last counts',
}

const silentTwice: Check = ({parsed}) =>
  parsed.blocks.flatMap((block) =>
    Object.entries(countsOnce).flatMap(([plugin, which]) => {
      const [, second] = block.directives.filter(({name}) => name === plugin)
      const token = second?.tokens[0]
      return token === undefined
        ? []
        : [
            found(
              'CF081',
              token,
              `${plugin} stands in this block before: ${which}, without a word in the log`,
              'leave one of them',
            ),
          ]
    }),
  )

/** kubeadm >= 1.32 exempts the cluster zone from the cache; before 1.14.7 that does not hold for rewritten hosts. */
const cachedRewrites: Check = (subject) => {
  if (atLeast(subject.parsed.version, '1.14.7')) return []
  return subject.blocks.flatMap((block) => {
    const tokens = block.block.tokens.get('cache')
    const rule = block.rules.find(({field}) => field === 'name')
    if (tokens === undefined || rule?.field !== 'name') return []
    const cache = readCacheOr(() =>
      readCache(dispenserOf(subject.parsed, tokens), contextOf(subject.parsed, block.block)),
    )
    const off = [...(cache?.successOff ?? []), ...(cache?.denialOff ?? [])]
    const hit = block.rules.find(
      (one) =>
        one.field === 'name' &&
        off.some((zone) => isSubdomain(zone, one.to)) &&
        longestZone(off, one.match.from) === undefined,
    )
    if (hit === undefined || off.includes('.')) return []
    return [
      found(
        'CF088',
        placeOf(hit),
        'cache stands before rewrite up to 1.14.6 and sees the asked name: the answer is kept, also NXDOMAIN, although the zone of the target is exempt',
        'expect changes of the Service to show after the TTL, or exempt the host too',
      ),
    ]
  })
}

function readCacheOr<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (isSetupError(error)) return undefined
    throw error
  }
}

/** `expr name() == "x"`: the lexer takes the double quotes off. */
const viewQuotes: Check = ({parsed}) =>
  parsed.blocks.flatMap((block) =>
    (block.tokens.get('view') ?? [])
      .filter(({quoted}) => quoted)
      .map((token) =>
        found(
          'CF076',
          token,
          `CoreDNS takes the quotes off before the expression is read: ${token.text} stands there bare`,
          `write '${token.text}' in single quotes`,
        ),
      ),
  )

/** Section 5 of the reference: the plugin chain and what its members accept. */
export const pluginChecks: readonly Check[] = [setupErrors, silentTwice, cachedRewrites, viewQuotes]
