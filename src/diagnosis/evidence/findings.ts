import type {Finding} from '../../model/doctor.ts'
import type {CaptureReading} from './judge-capture.ts'
import {advice} from '../checks/check.ts'
import {hiddenCauses, type HiddenCause} from './hidden-cause.ts'
import type {LogClass, LogEvidence} from './judge-log.ts'
import type {Place} from './places.ts'

/** What stands in docs/checks.md about a finding that logs and captures give. */
export interface EvidenceCheck {
  readonly id: string
  readonly name: string
  readonly severity: Finding['severity']
  readonly means: string
  readonly act: string
  readonly sources: readonly string[]
}

const nginx = 'https://nginx.org/en/docs/http/ngx_http_core_module.html#listen'

/** Findings of `doctor --logs`, `--log-file` and `--capture-file`. */
export const evidenceChecks: readonly EvidenceCheck[] = [
  {
    id: 'SRC101',
    name: 'log-hairpin',
    severity: 'error',
    means: 'The log of the ingress shows pods that arrive without the PROXY header and are refused.',
    act: 'As for SRC003: the cheapest remedy for the hairpin.',
    sources: [nginx],
  },
  {
    id: 'SRC102',
    name: 'log-outside-without-header',
    severity: 'error',
    means: 'The log shows connections from outside, or of the balancer, without the header that the ingress wants.',
    act: 'Switch the sender on, or the receiver off; a balancer that was switched a moment ago may still be changing.',
    sources: [nginx],
  },
  {
    id: 'SRC103',
    name: 'log-header-not-read',
    severity: 'error',
    means: 'The log shows a PROXY header that was taken for a request: the sender is on, the receiver is off.',
    act: 'Switch the receiver on, or the sender off.',
    sources: [nginx],
  },
  {
    id: 'SRC104',
    name: 'log-health-check',
    severity: 'warning',
    means: 'An HTTP health check comes without the header on a port that wants one.',
    act: 'Point the health check at the health port of the controller, or make it send the header.',
    sources: [nginx],
  },
  {
    id: 'SRC105',
    name: 'log-address-hidden',
    severity: 'warning',
    means:
      'Requests are logged with an address of the balancer, of a node or of the machine itself: a warning if all are, an info if only some are.',
    act: 'The finding names the hop that wrote the address, and the cheapest remedy: a field of the Service, a rule of the CNI, PROXY, or, for 127.0.0.1, the passthrough listener of the controller (which is no translation of the network).',
    sources: [nginx],
  },
  {
    id: 'SRC106',
    name: 'log-harmless',
    severity: 'info',
    means: 'Refused connections that break nothing: TCP health checks, port scans, damaged headers.',
    act: 'Nothing.',
    sources: [nginx],
  },
  {
    id: 'SRC107',
    name: 'log-caller-unknown',
    severity: 'warning',
    means:
      'The log shows connections without the header that the ingress wants, and whether pods or clients from outside made them cannot be told: the pod ranges of the cluster were not read.',
    act: 'Give --pod-cidr, and --balancer-cidr for the networks that the balancer connects from.',
    sources: [nginx],
  },
  {
    id: 'SRC110',
    name: 'capture-header',
    severity: 'info',
    means: 'The capture tells how connections to a port begin: with a PROXY header of version 1 or 2, or without one.',
    act: 'Compare with what the receiver wants.',
    sources: ['https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt'],
  },
]

const from: Readonly<Record<Place, string>> = {
  loopback: ' from the loopback address',
  balancer: ' from a balancer',
  gateway: ' from the pod range of a node',
  pod: ' from a pod',
  node: ' from a node',
  elsewhere: '',
  unknown: ' from an address that cannot be placed',
}

const idOfClass: Readonly<Partial<Record<LogClass, string>>> = {
  hairpin: 'SRC101',
  'hairpin-http': 'SRC101',
  'hairpin-tls': 'SRC101',
  'outside-without-header': 'SRC102',
  'caller-unknown': 'SRC107',
  'balancer-address': 'SRC105',
  'node-address': 'SRC105',
  'pod-range-gateway': 'SRC105',
  'passthrough-loopback': 'SRC105',
  'header-not-read': 'SRC103',
  'http-health-check': 'SRC104',
  'tcp-health-check': 'SRC106',
  'port-scan': 'SRC106',
  'header-broken': 'SRC106',
}

/** Which hop wrote the addresses of a class; see hiddenCauses(). */
export type CausesOf = (name: LogClass) => readonly HiddenCause[]

/** Findings for the rows of one log; `object` is the pod or the file that it came from. */
export function logFindings(
  rows: readonly LogEvidence[],
  object: string,
  causesOf: CausesOf = (name) => hiddenCauses(name, []),
): Finding[] {
  return rows.flatMap((row): Finding[] => {
    const id = idOfClass[row.class]
    if (id === undefined) return []
    const where = row.listener === undefined ? '' : ` on ${row.listener}`
    const causes = causesOf(row.class)
    const why = causes.map(({cause}) => `; ${cause}`).join('')
    const remedies = row.class === 'caller-unknown' ? [givePlaces] : causes.flatMap((one) => one.remedies)
    return [
      {
        id,
        severity: row.severity,
        title: `${row.count} × ${row.class}${from[row.place]}${where}: ${row.meaning}${why}`,
        object,
        evidence: [{object, field: `line ${row.line}`, value: `peers ${row.peers.join(' ')}`}],
        remedies: remedies.toSorted((a, b) => a.cost - b.cost),
      },
    ]
  })
}

const givePlaces = advice(
  'ask',
  0,
  'the same with --pod-cidr RANGE (kubectl cluster-info dump | grep -m1 cluster-cidr, or the pool of the CNI) and --balancer-cidr RANGE',
  'then pods, balancer and clients are told apart',
)

/** Findings for a capture; one for each port and kind of beginning. Never a byte of what was sent. */
export function captureFindings({evidence, alreadyOpen}: CaptureReading, object: string): Finding[] {
  const rows = evidence.map(({port, first, place, peers, count}): Finding => {
    return {
      id: 'SRC110',
      severity: 'info',
      title: `port ${port}: ${count} ${count === 1 ? 'connection begins' : 'connections begin'} with ${beginning(first)}${from[place]}`,
      object,
      evidence: [{object, field: `port ${port}`, value: `peers ${peers.join(' ')}`}],
      remedies: [],
    }
  })
  if (alreadyOpen === 0) return rows
  return [
    ...rows,
    {
      id: 'SRC110',
      severity: 'info',
      title: `${alreadyOpen} connections were open before the capture began and tell nothing`,
      object,
      evidence: [],
      remedies: [],
    },
  ]
}

function beginning(first: CaptureReading['evidence'][number]['first']): string {
  switch (first) {
    case 'proxy-v1':
      return 'a PROXY header of version 1'
    case 'proxy-v2':
      return 'a PROXY header of version 2'
    case 'nothing':
      return 'nothing at all'
    case 'not captured':
      return 'bytes that the capture does not show (tcpdump -w, or -X, shows them)'
    case 'http':
    case 'http-health-check':
      return 'HTTP, without a PROXY header'
    case 'tls':
      return 'TLS, without a PROXY header'
    case 'something else':
      return 'something else than a PROXY header'
  }
}
