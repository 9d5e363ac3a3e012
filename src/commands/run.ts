import {Flags} from '@oclif/core'
import {SrcipCommand} from '../cli/command.ts'
import {durationFlag, kubeFlags} from '../cli/flags.ts'

const list = (summary: string, env: string) =>
  Flags.string({summary, env, multiple: true, multipleNonGreedy: true, delimiter: ',', default: []})

export default class Run extends SrcipCommand {
  static override summary = 'Keep in-cluster DNS pointed at the proxy, for as long as it runs (in a Pod)'
  static override description =
    'Watches Ingresses and Gateway API routes, writes their names into cluster DNS and proves each write on every CoreDNS pod. ' +
    'Every flag can also be set by environment as SRCIP_NAME. SIGTERM ends it in good order with exit code 0.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --ingress-class nginx',
    '<%= config.bin %> <%= command.id %> --once --dry-run',
  ]
  static override flags = {
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
      env: 'SRCIP_REQUIRE_SOURCE',
    }),
    'ingress-class': list(
      'take Ingresses of these classes only: names or spec.controller values',
      'SRCIP_INGRESS_CLASS',
    ),
    host: list('publish this name too; may be repeated', 'SRCIP_HOST'),
    exclude: list('never publish this name; *.SUFFIX for all below; may be repeated', 'SRCIP_EXCLUDE'),
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
    owner: Flags.string({
      summary: 'whose markers and key are used: srcip or ouroboros',
      default: 'srcip',
      env: 'SRCIP_OWNER',
    }),
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
  }

  async run(): Promise<void> {
    const {flags} = await this.parse(Run)
    const [{run}, {toKubeFlags}] = await Promise.all([import('../controller/run.ts'), import('../cli/context.ts')])
    const code = await run(
      {
        kube: toKubeFlags(flags, process.env),
        version: this.config.version,
        env: process.env,
        target: flags.target,
        proxyNamespace: flags['proxy-namespace'],
        families: flags.source,
        requiredSources: flags['require-source'],
        ingressClasses: flags['ingress-class'],
        hosts: flags.host,
        exclude: flags.exclude,
        wildcards: flags.wildcards,
        before: flags.before,
        writeTo: flags['write-to'],
        dnsService: flags['dns-service'],
        via: flags.via,
        owner: flags.owner,
        allowEmpty: flags['allow-empty'],
        relistMs: flags['relist-interval'] ?? 3_600_000,
        verifyTimeoutMs: flags['verify-timeout'] ?? 180_000,
        healthAddress: flags['health-address'],
        once: flags.once,
        dryRun: flags['dry-run'],
        logLevel: flags['log-level'],
        logFormat: flags['log-format'],
      },
      {signal: this.interruption.signal, writeLog: (line) => process.stderr.write(line)},
    )
    process.exitCode = code
  }
}
