import {SrcipCommand} from '../../cli/command.ts'
import {planFlags} from '../../cli/coredns/flags.ts'

export default class CorednsPlan extends SrcipCommand {
  static override summary = 'Show what apply would change in cluster DNS, and why a name is refused'
  static override description =
    'Works on the cluster, or with -f on a Corefile without asking any cluster. Exit codes are those of apply: 0 every wanted name can stand, 23 some names are refused, 32 nothing could be taken, 33 somebody else owns it.'
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> -f Corefile --host shop.example.org -o diff',
  ]
  static override flags = planFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(CorednsPlan)
    const {planOnFile, wantedOfCluster, corednsVersion} = await import('../../cli/coredns/request.ts')
    const {corednsPlanView, refusalLines} = await import('../../present/coredns-plan.ts')
    let planned
    if (flags.filename === undefined) {
      const {loadClusterState} = await import('../../cli/coredns/ports.ts')
      const client = await this.cluster(flags)
      const state = await loadClusterState(
        {
          client,
          wanted: (signal) => wantedOfCluster('apply', client, flags, signal),
          dnsService: flags['dns-service'],
          version: corednsVersion(flags),
        },
        this.interruption.signal,
      )
      planned = state.planned
    } else planned = (await planOnFile('apply', flags)).planned
    for (const line of refusalLines(planned.document)) this.say(line)
    await this.finish(planned.document, corednsPlanView(planned.texts), flags)
  }
}
