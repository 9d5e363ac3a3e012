import {ChangingCommand} from '../../cli/coredns/changing-command.ts'
import {adoptFlags} from '../../cli/coredns/flags.ts'

export default class CorednsAdopt extends ChangingCommand {
  static override summary = 'Take over the names of ouroboros or hairpin-proxy: its lines go and ours come in one write'
  static override description =
    'Every name that the other tool serves now leads to our proxy afterwards; all of them or none. Shows the diff, asks, writes, waits until every CoreDNS pod answers so, and puts the previous bytes back when one refuses. Refused (33) while the other controller has a pod; --stop-other scales it to 0 first and waits. With -f the new Corefile goes to stdout, or back into the file with --in-place; no cluster is asked.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --dry-run=server',
    '<%= config.bin %> <%= command.id %> --stop-other --target srcip/srcip-proxy',
    '<%= config.bin %> <%= command.id %> -f Corefile -o diff',
  ]
  static override flags = adoptFlags

  async run(): Promise<void> {
    const {flags: given} = await this.parse(CorednsAdopt)
    const flags = {...given, owner: 'srcip' as const}
    if (flags.filename !== undefined) return await this.changeGiven('adopt', flags)
    const {adoptInCluster} = await import('../../cli/coredns/adopt-in-cluster.ts')
    await this.changeRunning(flags, (options) => adoptInCluster({...options, flags}))
  }
}
