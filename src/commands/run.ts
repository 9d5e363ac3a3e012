import {SrcipCommand} from '../cli/command.ts'
import {runFlags} from '../cli/run/flags.ts'

export default class Run extends SrcipCommand {
  static override summary = 'Keep in-cluster DNS pointed at the proxy, for as long as it runs (in a Pod)'
  static override description =
    'Watches Ingresses and Gateway API routes, writes their names into cluster DNS and proves each write on every CoreDNS pod. ' +
    'Every flag can also be set by environment as SRCIP_NAME. SIGTERM ends it in good order with exit code 0. ' +
    'With --compat ouroboros all other flags are those of `ouroboros controller` 0.8 (docs/compatibility.md).'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --ingress-class nginx',
    '<%= config.bin %> <%= command.id %> --once --dry-run',
  ]
  static override flags = runFlags

  async run(): Promise<void> {
    const {asksForOuroboros, runOuroborosController} = await import('../cli/run/ouroboros.ts')
    if (asksForOuroboros(this.argv)) {
      process.exitCode = await runOuroborosController(this.argv, this.config.version, this.interruption.signal)
      return
    }
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
        hostsPath: flags['hosts-path'],
        externalDns: {
          as: flags['external-dns-as'],
          name: flags['external-dns-name'],
          namespace: flags['external-dns-namespace'],
          ttl: flags['external-dns-ttl'],
          labels: flags['external-dns-label'],
          annotations: flags['external-dns-annotation'],
        },
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
