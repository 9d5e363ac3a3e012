import {ChangingCommand} from '../../cli/coredns/changing-command.ts'
import {cleanFlags} from '../../cli/coredns/flags.ts'

export default class CorednsClean extends ChangingCommand {
  static override summary = 'Take every line of ours out of cluster DNS, and prove it on every CoreDNS pod'
  static override description =
    'Our lines go, byte for byte what was there before comes back; lines that lost their markers are found by their target. Refused (33) while a live `run` holds the Lease, which is named. With -f the Corefile without our lines goes to stdout, or back into the file with --in-place.'
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> -f Corefile --in-place',
  ]
  static override flags = cleanFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(CorednsClean)
    if (flags.filename !== undefined) return await this.changeGiven('clean', flags)
    const {changeCluster} = await import('../../cli/coredns/change-command.ts')
    await this.changeRunning(flags, (options) => changeCluster({...options, operation: 'clean', flags}))
  }
}
