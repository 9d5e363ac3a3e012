import {Flags} from '@oclif/core'
import {durationFlag, kubeFlags, noDefault} from '../flags.ts'

const list = (summary: string, env: string, helpValue: string) =>
  Flags.string({
    summary,
    env,
    helpValue,
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    default: [],
    defaultHelp: noDefault,
  })

/** Flags of `srcip run`, each also an environment variable, as a Deployment sets them. */
export const runFlags = {
  ...kubeFlags,
  target: Flags.string({
    summary: 'the only proxy Service; default: those labelled srcip.dev/component=proxy',
    helpValue: 'NAMESPACE/NAME',
    env: 'SRCIP_TARGET',
  }),
  'proxy-namespace': Flags.string({
    summary: 'where to look for proxy Services; default: the own namespace',
    helpValue: 'NAME',
    env: 'SRCIP_PROXY_NAMESPACE',
  }),
  source: Flags.option({
    options: ['ingress', 'gateway'] as const,
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    default: ['ingress', 'gateway'],
    summary: 'families of objects to read names from',
    env: 'SRCIP_SOURCE',
  })(),
  'require-source': Flags.string({
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    default: ['ingresses'],
    summary: 'sources that readiness waits for',
    helpValue: 'SOURCE',
    env: 'SRCIP_REQUIRE_SOURCE',
  }),
  'ingress-class': list(
    'take Ingresses of these classes only: names or spec.controller values',
    'SRCIP_INGRESS_CLASS',
    'CLASS',
  ),
  host: list('publish this name too; may be repeated', 'SRCIP_HOST', 'NAME'),
  exclude: list('never publish this name; *.SUFFIX for all below; may be repeated', 'SRCIP_EXCLUDE', 'NAME'),
  wildcards: Flags.boolean({summary: 'publish wildcard hosts (CoreDNS 1.8.4 or newer)', env: 'SRCIP_WILDCARDS'}),
  before: Flags.boolean({summary: "stand before an operator's rule that catches a host", env: 'SRCIP_BEFORE'}),
  'write-to': Flags.option({
    options: ['auto', 'corefile', 'import', 'hosts', 'external-dns'] as const,
    multiple: true,
    multipleNonGreedy: true,
    delimiter: ',',
    default: ['auto'],
    summary: 'where names are published',
    env: 'SRCIP_WRITE_TO',
  })(),
  'hosts-path': Flags.string({
    summary: 'file that --write-to hosts keeps',
    default: '/etc/hosts',
    helpValue: 'FILE',
    env: 'SRCIP_HOSTS_PATH',
  }),
  'external-dns-as': Flags.option({
    options: ['endpoint', 'service'] as const,
    default: 'endpoint' as const,
    summary: 'what ExternalDNS reads: a DNSEndpoint, or an annotated headless Service',
    env: 'SRCIP_EXTERNAL_DNS_AS',
  })(),
  'external-dns-name': Flags.string({
    summary: 'name of that object',
    default: 'srcip',
    helpValue: 'NAME',
    env: 'SRCIP_EXTERNAL_DNS_NAME',
  }),
  'external-dns-namespace': Flags.string({
    summary: 'its namespace; default: the own one',
    helpValue: 'NAME',
    env: 'SRCIP_EXTERNAL_DNS_NAMESPACE',
  }),
  'external-dns-ttl': Flags.integer({
    summary: 'seconds that records live; default: what ExternalDNS takes',
    min: 1,
    helpValue: 'SECONDS',
    env: 'SRCIP_EXTERNAL_DNS_TTL',
  }),
  'external-dns-label': list(
    'label of that object, KEY=VALUE; may be repeated',
    'SRCIP_EXTERNAL_DNS_LABEL',
    'KEY=VALUE',
  ),
  'external-dns-annotation': list(
    'annotation of that object, KEY=VALUE; may be repeated',
    'SRCIP_EXTERNAL_DNS_ANNOTATION',
    'KEY=VALUE',
  ),
  'dns-service': Flags.string({
    summary: 'the DNS Service, where there are several',
    helpValue: 'NAMESPACE/NAME',
    env: 'SRCIP_DNS_SERVICE',
  }),
  via: Flags.option({
    options: ['auto', 'api', 'direct'] as const,
    default: 'auto' as const,
    summary: 'how CoreDNS pods are asked',
    env: 'SRCIP_VIA',
  })(),
  owner: Flags.option({
    options: ['srcip', 'ouroboros'] as const,
    default: 'srcip' as const,
    summary: 'whose markers and key are used',
    env: 'SRCIP_OWNER',
  })(),
  'allow-empty': Flags.boolean({summary: 'believe an empty list and take every name out', env: 'SRCIP_ALLOW_EMPTY'}),
  'relist-interval': durationFlag('relist-interval', {
    summary: 'how often each source is compared with a fresh list',
    default: 3_600_000,
    env: 'SRCIP_RELIST_INTERVAL',
  }),
  'verify-timeout': durationFlag('verify-timeout', {
    summary: 'how long CoreDNS pods may take to answer with a write',
    default: 180_000,
    env: 'SRCIP_VERIFY_TIMEOUT',
  }),
  'health-address': Flags.string({
    summary: 'address of /livez, /readyz and /metrics',
    default: ':8080',
    helpValue: 'HOST:PORT',
    env: 'SRCIP_HEALTH_ADDRESS',
  }),
  once: Flags.boolean({summary: 'one pass with its proof, then exit', env: 'SRCIP_ONCE'}),
  'dry-run': Flags.boolean({summary: 'write nothing, log what would be written', env: 'SRCIP_DRY_RUN'}),
  'log-level': Flags.option({
    options: ['debug', 'info', 'warn', 'error'] as const,
    default: 'info' as const,
    summary: 'least important lines that are logged',
    env: 'SRCIP_LOG_LEVEL',
  })(),
  'log-format': Flags.option({
    options: ['json', 'text'] as const,
    default: 'json' as const,
    summary: 'form of log lines',
    env: 'SRCIP_LOG_FORMAT',
  })(),
} as const
