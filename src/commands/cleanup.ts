import {SrcipCommand} from '../cli/command.ts'
import {cleanupFlags} from '../cli/cleanup/flags.ts'
import {usesColor} from '../cli/terminal.ts'

export default class Cleanup extends SrcipCommand {
  static override summary = 'Take every trace of srcip out of the cluster, with nothing but a kubeconfig'
  static override description =
    'Lines leave cluster DNS in one write and every CoreDNS pod proves it; caches settle; then proxies, accounts and roles go, and a second look shows that nothing is left. Works when chart, proxy or CRDs are long gone, and again after an interruption. Refused (33) while a live `run` holds the Lease, (32) for objects of a Helm release and for names that are in use. With -n only objects of that namespace are looked at.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --dry-run=client',
    '<%= config.bin %> <%= command.id %> --stop-run',
    '<%= config.bin %> <%= command.id %> --dns-only --stop-run --even-in-use',
  ]
  static override flags = cleanupFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(Cleanup)
    const [{runCleanup}, {cleanupView}] = await Promise.all([
      import('../cli/cleanup/run-cleanup.ts'),
      import('../present/cleanup.ts'),
    ])
    const report = await runCleanup({
      client: await this.cluster(flags),
      flags,
      signal: this.interruption.signal,
      onEvent: await this.events(),
      say: (line) => this.say(line),
      sayDiff: (text) => this.sayStyled(text),
      color: usesColor(flags.color, process.stderr, process.env),
    })
    await this.finish(report, cleanupView, flags)
  }
}
