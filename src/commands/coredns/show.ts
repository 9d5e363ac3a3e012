import {SrcipCommand} from '../../cli/command.ts'
import {showFlags} from '../../cli/coredns/flags.ts'

export default class CorednsShow extends SrcipCommand {
  static override summary = 'Show cluster DNS: server blocks, rewrite rules, what is ours and who owns the Corefile'
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> -f Corefile -o json',
  ]
  static override flags = showFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(CorednsShow)
    const [{readDnsState}, {showState}, {corednsShowView}] = await Promise.all([
      import('../../cli/coredns/read-command.ts'),
      import('../../cluster-dns/view/show.ts'),
      import('../../present/coredns-view.ts'),
    ])
    const state = await readDnsState(flags, () => this.cluster(flags), this.interruption.signal)
    await this.finish(showState(state), corednsShowView, flags)
  }
}
