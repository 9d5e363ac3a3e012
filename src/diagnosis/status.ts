import {formatDuration} from '../model/duration.ts'
import type {ExcludedHost} from '../model/hosts.ts'
import type {StatusReport, StatusRow} from '../model/status.ts'

/** Names that have a row of their own, of each kind; the warnings hold all. */
const shown = 20

/** One Deployment of ours with what its pods say about themselves. */
export interface RunningPart {
  readonly component: 'controller' | 'proxy'
  /** `deployment/NAMESPACE/NAME` */
  readonly object: string
  readonly wanted: number
  readonly ready: number
  /** Failed checks of `/readyz?verbose` of pods that are not ready, or why they could not be asked; what a ready controller says of its sources. */
  readonly causes: readonly string[]
}

/** What one CoreDNS pod said. */
export interface DnsPodStatus {
  readonly object: string
  readonly hash: 'current' | 'other' | 'unknown'
  readonly probe: 'right' | 'wrong' | 'unavailable' | 'not-asked'
  readonly reason?: string | undefined
}

/** Everything that was read, from one moment. */
export interface StatusInput {
  /** Milliseconds since 1970. */
  readonly now: number
  readonly parts: readonly RunningPart[]
  /** The Lease of cluster DNS, when it exists; `unread` where nobody could look. */
  readonly lease?:
    | 'unread'
    | {
        readonly object: string
        readonly holder?: string | undefined
        /** RFC 3339 */
        readonly acquired?: string | undefined
        /** Milliseconds since 1970. */
        readonly renewed?: number | undefined
        readonly durationSeconds: number
      }
    | undefined
  readonly dns:
    | {
        readonly object: string
        readonly wanted: number
        /** Of the wanted ones, those that stand. */
        readonly written: number
        /** Lines of ours in cluster DNS, whomever they are for. */
        readonly lines: number
        readonly refused: readonly {readonly name: string; readonly code: string; readonly reason: string}[]
        readonly excluded: readonly ExcludedHost[]
        /** Changes that the plan of this moment would make. */
        readonly edits: number
        readonly pods: readonly DnsPodStatus[]
      }
    | {readonly unreadable: string}
}

/**
 * Puts what was read into rows: is somebody there who keeps DNS, do the names stand, does every pod answer, is every proxy in step.
 * Nothing that could not be read is `ok`. Pure.
 */
export function judgeStatus(input: StatusInput): Pick<StatusReport, 'state' | 'since' | 'hosts' | 'rows'> {
  const {dns, lease, parts, now} = input
  const controllers = parts.filter(({component}) => component === 'controller')
  const isKept =
    lease === 'unread' ? controllers.some(({ready}) => ready > 0) : lease?.holder !== undefined && isAlive(lease, now)
  const lines = 'unreadable' in dns ? undefined : dns.lines
  const isOff = lines === 0 && !isKept && controllers.every(({ready}) => ready === 0)
  const rows = [
    ...controllers.map((part) => partRow(part, isOff)),
    ...leaseRow(input, lines ?? 0),
    ...parts.filter(({component}) => component === 'proxy').map((part) => partRow(part, isOff)),
    ...('unreadable' in dns
      ? [{row: 'hosts', object: 'cluster DNS', state: 'unknown', detail: dns.unreadable} as const]
      : dnsRows(dns, isOff, isKept)),
  ]
  return {
    state: isOff ? 'off' : isKept && (lines ?? 0) > 0 ? 'on' : 'partly',
    ...(isKept && typeof lease === 'object' && lease.acquired !== undefined ? {since: lease.acquired} : {}),
    hosts:
      'unreadable' in dns
        ? {wanted: 0, written: 0, refused: 0, excluded: 0}
        : {wanted: dns.wanted, written: dns.written, refused: dns.refused.length, excluded: dns.excluded.length},
    rows,
  }
}

/**
 * Sources of names that a controller cannot list now, out of its `/readyz?verbose`: which, since when and why. It stays ready for two
 * relist intervals, and its names stay as they are meanwhile (B32). Pure.
 */
export function sourceTroubles(readyz: string): string[] {
  return readyz.split('\n').flatMap((line) => {
    const [, source, note = ''] = /^\[\+\]source (\S+) ok: (.*)$/.exec(line) ?? []
    return source !== undefined && /^(?:stale|forbidden|syncing) for |, lists fail for /.test(note)
      ? [`source ${source} ${note}`]
      : []
  })
}

function isAlive(
  {renewed, durationSeconds}: Exclude<StatusInput['lease'], 'unread' | undefined>,
  now: number,
): boolean {
  return renewed !== undefined && now - renewed <= durationSeconds * 1000
}

function partRow(part: RunningPart, isOff: boolean): StatusRow {
  const {component, object, wanted, ready, causes} = part
  const detail = [`${ready} of ${wanted} ready`, ...causes].join('; ')
  const isWhole = ready >= wanted && wanted > 0
  const state = isWhole
    ? causes.length === 0
      ? 'ok'
      : 'warning'
    : isOff || wanted === 0
      ? 'off'
      : ready > 0
        ? 'warning'
        : 'error'
  return {row: component, object, state, detail}
}

function leaseRow({lease, now}: StatusInput, lines: number): StatusRow[] {
  if (lease === 'unread') {
    if (lines === 0) return []
    return [{row: 'lease', object: 'lease', state: 'unknown', detail: 'who keeps cluster DNS was not read'}]
  }
  if (lease === undefined || lease.holder === undefined) {
    if (lines === 0) return []
    return [
      {
        row: 'lease',
        object: lease?.object ?? 'lease',
        state: 'warning',
        detail: 'nobody keeps cluster DNS: names of new Ingresses are not added, those of deleted ones stay',
      },
    ]
  }
  const {object, holder, acquired, renewed} = lease
  const age = renewed === undefined ? 'never' : `${formatDuration(roundSeconds(now - renewed))} ago`
  const held = acquired === undefined ? '' : `, since ${acquired}`
  return [
    isAlive(lease, now)
      ? {row: 'lease', object, state: 'ok', detail: `held by ${holder}${held}, renewed ${age}`}
      : {
          row: 'lease',
          object,
          state: 'warning',
          detail: `${holder} has not renewed it, last ${age}: it is free to take`,
        },
  ]
}

function roundSeconds(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds / 1000)) * 1000
}

function dnsRows(dns: Exclude<StatusInput['dns'], {unreadable: string}>, isOff: boolean, isKept: boolean): StatusRow[] {
  const {object, wanted, written, refused, excluded, edits, pods} = dns
  const counts = [
    `${written} of ${wanted} wanted names written`,
    ...(refused.length === 0 ? [] : [`${refused.length} refused`]),
    ...(excluded.length === 0 ? [] : [`${excluded.length} left out`]),
  ].join(', ')
  const drift: StatusRow =
    edits === 0
      ? {row: 'drift', object, state: 'ok', detail: 'cluster DNS is as it is wanted'}
      : {
          row: 'drift',
          object,
          state: 'warning',
          detail: `${edits} ${edits === 1 ? 'change is' : 'changes are'} outstanding: ${isKept ? 'run makes them, unless it says why not' : 'kubectl srcip coredns plan shows them'}`,
        }
  return [
    {
      row: 'hosts',
      object,
      state: isOff ? 'off' : refused.length > 0 || written < wanted ? 'warning' : 'ok',
      detail: counts,
    },
    ...(isOff ? [] : refused.slice(0, shown)).map(({name, code, reason}) => ({
      row: 'hosts' as const,
      object: name,
      state: 'warning' as const,
      detail: `${code}: ${reason}`,
    })),
    ...(isOff ? [] : excluded.slice(0, shown)).map(({name, reason, source}) => ({
      row: 'hosts' as const,
      object: name === '' ? source : name,
      state: 'off' as const,
      detail: name === '' ? `left out: ${reason}` : `left out (${source}): ${reason}`,
    })),
    ...(isOff ? [] : [drift]),
    ...pods.map((pod) => podRow(pod, isOff)),
  ]
}

function podRow({object, hash, probe, reason}: DnsPodStatus, isOff: boolean): StatusRow {
  const words = {
    right: 'answers right',
    wrong: 'answers something else',
    unavailable: 'could not be asked',
    'not-asked': 'not asked: no name of ours stands',
  }[probe]
  const loaded = {current: 'runs the present configuration', other: 'runs another configuration', unknown: ''}[hash]
  const detail = [words, loaded, reason ?? ''].filter(Boolean).join('; ')
  const state = probe === 'unavailable' ? 'unknown' : probe === 'wrong' ? 'error' : hash === 'other' ? 'warning' : 'ok'
  return {row: 'coredns', object, state: isOff && state === 'ok' ? 'off' : state, detail}
}

/** 22 when a row is an error, 21 when one could not be told or needs somebody, else 0 (docs/exit-codes.md). */
export function statusExitCode(rows: readonly StatusRow[]): number {
  if (rows.some(({state}) => state === 'error')) return 22
  return rows.some(({state}) => state === 'unknown') ? 21 : 0
}
