/** One flag of `srcip proxy`. Durations are milliseconds here and Go durations on the command line. */
export type FlagRow = {readonly name: string; readonly summary: string} & (
  | {readonly kind: 'text'; readonly default?: string; readonly value: string}
  | {readonly kind: 'list'; readonly default: readonly string[]; readonly value: string}
  | {readonly kind: 'choice'; readonly default: string; readonly options: readonly string[]}
  | {readonly kind: 'switch'}
  | {readonly kind: 'count'; readonly default: number}
  | {readonly kind: 'time'; readonly default?: number}
)

/** Every flag; the command line, the environment (`SRCIP_<FLAG>`) and the docs are made from this table. */
export const flagTable: readonly FlagRow[] = [
  {name: 'to', kind: 'text', value: 'HOST', summary: 'name or address of the target, resolved again and again'},
  {
    name: 'port',
    kind: 'list',
    default: ['80=8080', '443=8443'],
    value: 'SERVICE=LISTEN',
    summary: 'a port, may be repeated: SERVICE=LISTEN[,plain][,to=PORT][,probe=http|tls|tcp][,first-byte=off]',
  },
  {
    name: 'listen',
    kind: 'text',
    default: '::',
    value: 'ADDRESS',
    summary: 'address to listen on; :: is every IPv6 and IPv4 address',
  },
  {
    name: 'send-proxy',
    kind: 'choice',
    default: 'always',
    options: ['always', 'auto'],
    summary: 'send the header always, or only to addresses that a probe shows to take it',
  },
  {
    name: 'proxy-protocol',
    kind: 'choice',
    default: 'v1',
    options: ['v1', 'v2'],
    summary: 'version of the header that is sent',
  },
  {name: 'accept-proxy', kind: 'switch', summary: 'read PROXY headers of clients (a proxy behind a proxy)'},
  {
    name: 'trusted-cidr',
    kind: 'list',
    default: [],
    value: 'CIDR',
    summary: 'peers whose PROXY header counts and is demanded, may be repeated; the header of anyone else is taken off',
  },
  {name: 'engine', kind: 'choice', default: 'node', options: ['node', 'haproxy'], summary: 'what moves the bytes'},
  {
    name: 'haproxy',
    kind: 'text',
    default: 'haproxy',
    value: 'PROGRAM',
    summary: 'the HAProxy program of --engine haproxy',
  },
  {
    name: 'workers',
    kind: 'text',
    default: 'auto',
    value: 'COUNT',
    summary: 'threads that relay; auto is one for each core, at most 4',
  },
  {
    name: 'max-connections',
    kind: 'count',
    default: 10_000,
    summary: 'connections open at once; more are refused with a reset',
  },
  {
    name: 'idle-timeout',
    kind: 'time',
    default: 0,
    summary: 'end connections without traffic after this time; 0 is never',
  },
  {
    name: 'first-byte-timeout',
    kind: 'time',
    default: 60_000,
    summary: 'end connections on which neither side has said anything for this time; 0 is never',
  },
  {name: 'connect-timeout', kind: 'time', default: 5000, summary: 'how long a client waits for the target'},
  {name: 'header-timeout', kind: 'time', default: 5000, summary: 'how long a trusted peer may take for its header'},
  {name: 'keep-alive', kind: 'time', default: 30_000, summary: 'quiet time before TCP keep-alive probes'},
  {name: 'resolve-interval', kind: 'time', default: 2000, summary: 'time between two resolutions of --to'},
  {
    name: 'probe-interval',
    kind: 'time',
    summary: 'time between two probes of an address (2s; 250ms with --send-proxy auto)',
  },
  {name: 'probe-timeout', kind: 'time', default: 1000, summary: 'limit for one probe'},
  {name: 'probe-host', kind: 'text', default: '', value: 'NAME', summary: 'host name that probes ask for'},
  {name: 'drain-delay', kind: 'time', default: 2000, summary: 'how long new connections are still taken after SIGTERM'},
  {name: 'drain-timeout', kind: 'time', default: 25_000, summary: 'how long open connections may go on after that'},
  {
    name: 'health-address',
    kind: 'text',
    default: ':8081',
    value: 'ADDRESS:PORT',
    summary: 'where /livez, /readyz and /metrics are, or off',
  },
]

/** The environment variable that stands for a flag. */
export function flagVariable(name: string): string {
  return `SRCIP_${name.toUpperCase().replaceAll('-', '_')}`
}
