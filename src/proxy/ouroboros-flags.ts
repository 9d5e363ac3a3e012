import {SrcipError} from '../model/errors.ts'
import {parseDuration} from '../model/duration.ts'
import {flagTable} from './flag-table.ts'
import type {ProxyFlags} from './parse-options.ts'

/** One flag of `ouroboros proxy` (v0.8): its variable, which counts when it is not empty, and its default. Go's flag package takes one dash or two, and `=` or the next word. */
interface OuroborosFlag {
  readonly name: string
  readonly variable: string
  readonly default: string
}

const known: readonly OuroborosFlag[] = [
  {name: 'listen-http', variable: 'OUROBOROS_PROXY_LISTEN_HTTP', default: ':8080'},
  {name: 'listen-https', variable: 'OUROBOROS_PROXY_LISTEN_HTTPS', default: ':8443'},
  {name: 'listen-health', variable: 'OUROBOROS_PROXY_LISTEN_HEALTH', default: ':8081'},
  {
    name: 'target-host',
    variable: 'OUROBOROS_PROXY_TARGET_HOST',
    default: 'ingress-nginx-controller.ingress-nginx.svc.cluster.local',
  },
  {name: 'target-http-port', variable: 'OUROBOROS_PROXY_TARGET_HTTP_PORT', default: '80'},
  {name: 'target-https-port', variable: 'OUROBOROS_PROXY_TARGET_HTTPS_PORT', default: '443'},
  {name: 'dial-timeout', variable: 'OUROBOROS_PROXY_DIAL_TIMEOUT', default: '5s'},
  {name: 'ready-timeout', variable: 'OUROBOROS_PROXY_READY_TIMEOUT', default: '2s'},
  {name: 'shutdown-grace', variable: 'OUROBOROS_PROXY_SHUTDOWN_GRACE', default: '30s'},
]

/** Milliseconds of the shutdown grace in which new connections are still taken. */
const longestDrainDelay = 2000

/** What is said once at start: what this mode does not promise. */
export const ouroborosNotice =
  'compat ouroboros: ready means that the target takes connections, not that it takes the PROXY header; use srcip flags for that'

/**
 * The flags of `srcip proxy` that a call in the words of ouroboros means, so that its chart runs with only the image changed.
 * undefined if the call is none: no `--compat ouroboros`, none of its flags, and not only its variables.
 * Throws usage errors that name the flag.
 */
export function readOuroborosFlags(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): ProxyFlags | undefined {
  const words = argv.flatMap((word) => /^--?([a-z-]+)(?:=|$)/.exec(word)?.[1] ?? [])
  const isAsked = words.includes('compat') || words.some((word) => known.some(({name}) => name === word))
  const isImplied = known.some(({variable}) => env[variable]) && !words.includes('to') && env['SRCIP_TO'] === undefined
  if (!isAsked && !isImplied) return undefined
  const values = new Map(known.map((flag) => [flag.name, env[flag.variable] || flag.default]))
  readWords(argv, values)
  const value = (name: string) => values.get(name) ?? ''
  const listeners = [
    {listen: value('listen-http'), to: value('target-http-port')},
    {listen: value('listen-https'), to: value('target-https-port')},
  ].filter(({listen}) => listen !== '')
  const addresses = listeners.map(({listen}) => splitAddress(listen))
  const hosts = new Set(addresses.map(({host}) => host))
  if (hosts.size > 1) throw usage('listen-http and listen-https name two addresses; here both ports listen on one')
  const grace = duration('shutdown-grace', value('shutdown-grace'))
  const drainDelay = Math.min(longestDrainDelay, grace)
  return {
    ...defaults(),
    to: value('target-host'),
    // Readiness there is one TCP connection; probe=tcp is that and a header that nobody has to answer.
    port: listeners.map(({to}, index) => `${to}=${addresses[index]?.port},probe=tcp`),
    listen: [...hosts][0] ?? '::',
    'connect-timeout': duration('dial-timeout', value('dial-timeout')),
    'probe-timeout': duration('ready-timeout', value('ready-timeout')),
    'first-byte-timeout': 0,
    'drain-delay': drainDelay,
    'drain-timeout': grace - drainDelay,
    'health-address': value('listen-health') === '' ? 'off' : value('listen-health'),
  }
}

function readWords(argv: readonly string[], values: Map<string, string>): void {
  const rest = [...argv]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [, name, joined] = /^--?([a-z-]+)(?:=(.*))?$/s.exec(word) ?? []
    if (name === undefined) throw usage(`${JSON.stringify(word)} is no flag of ouroboros proxy`)
    const value = joined ?? rest.shift()
    if (value === undefined) throw usage(`--${name} needs a value`)
    if (name === 'compat') {
      if (value !== 'ouroboros') throw usage(`--compat ${JSON.stringify(value)}: only ouroboros is known`)
    } else if (values.has(name)) values.set(name, value)
    else throw usage(`--${name} is no flag of ouroboros proxy`)
  }
}

function splitAddress(text: string): {readonly host: string; readonly port: string} {
  const [, host, port] = /^(.*):([0-9]+)$/.exec(text) ?? []
  if (host === undefined || port === undefined)
    throw usage(`listening address ${JSON.stringify(text)} is not [ADDRESS]:PORT`)
  return {host: host === '' ? '::' : host.replace(/^\[(.*)\]$/, '$1'), port}
}

function duration(name: string, text: string): number {
  const milliseconds = parseDuration(text)
  if (milliseconds === undefined) throw usage(`--${name} expects a duration such as 30s, not ${JSON.stringify(text)}`)
  return milliseconds
}

function defaults(): ProxyFlags {
  const rows = flagTable.map((row) => [row.name, row.kind === 'switch' ? false : row.default])
  return Object.fromEntries(rows) as ProxyFlags
}

function usage(message: string): SrcipError {
  return new SrcipError('Usage', `compat ouroboros: ${message}`, {
    hints: ['kubectl srcip proxy --help shows the flags of srcip itself'],
  })
}
