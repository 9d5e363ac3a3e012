import {ChangingCommand} from '../../cli/coredns/changing-command.ts'
import {applyFlags} from '../../cli/coredns/flags.ts'

export default class CorednsApply extends ChangingCommand {
  static override summary = 'Point names at the proxy in cluster DNS, and prove it on every CoreDNS pod'
  static override description =
    'Plans, shows the diff, asks, writes, waits until every CoreDNS pod answers so, and puts the previous bytes back when one refuses. The names given (or those of the Ingresses) are the whole wanted set. With -f the new Corefile goes to stdout, or back into the file with --in-place; no cluster is asked.'
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --host shop.example.org --target srcip/srcip-proxy --yes',
    '<%= config.bin %> <%= command.id %> -f Corefile --hosts-file hosts.txt --in-place',
  ]
  static override flags = applyFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(CorednsApply)
    if (flags.filename !== undefined) return await this.changeGiven('apply', flags)
    const {changeCluster} = await import('../../cli/coredns/change-command.ts')
    await this.changeRunning(flags, (options) => changeCluster({...options, operation: 'apply', flags}))
  }
}
