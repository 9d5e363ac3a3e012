import {SrcipCommand} from '../../cli/command.ts'
import {showFlags} from '../../cli/coredns/flags.ts'

export default class CorednsLint extends SrcipCommand {
  static override summary = 'Look for traps in a Corefile: what CoreDNS reads otherwise than it looks, or refuses'
  static override description =
    'Every finding has a stable id (CF001…), the line and column, and what to do. Exit code 22 when one of them is an error.'
  static override examples = ['<%= config.bin %> <%= command.id %>', '<%= config.bin %> <%= command.id %> -f Corefile']
  static override flags = showFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(CorednsLint)
    const [{readDnsState}, {lintState}, {corednsLintView}] = await Promise.all([
      import('../../cli/coredns/read-command.ts'),
      import('../../cluster-dns/view/lint.ts'),
      import('../../present/coredns-view.ts'),
    ])
    const state = await readDnsState(flags, () => this.cluster(flags), this.interruption.signal)
    await this.finish(lintState(state), corednsLintView, flags)
  }
}
