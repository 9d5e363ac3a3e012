import {Args, Flags} from '@oclif/core'
import {SrcipCommand} from '../../cli/command.ts'
import {queryFlags} from '../../cli/coredns/flags.ts'

export default class CorednsQuery extends SrcipCommand {
  static override summary = 'Ask for one name: what the Corefile makes of it, and what every CoreDNS pod really answers'
  static override description =
    'The simulation names the server block, every rewrite rule that is met, and the plugin that answers. On a cluster each pod is asked too, over TCP through the API server or directly (--via). Exit code 21 when a pod gave no answer.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> shop.example.org',
    '<%= config.bin %> <%= command.id %> shop.example.org -f Corefile -o wide',
  ]
  static override args = {name: Args.string({ignoreStdin: true, required: true, description: 'name to ask for'})}
  static override flags = {
    ...queryFlags,
    type: Flags.option({
      options: ['A', 'AAAA', 'CNAME', 'MX', 'SRV', 'TXT'] as const,
      default: 'A' as const,
      summary: 'type of record',
      helpGroup: 'CLUSTER DNS',
    })(),
  }

  async run(): Promise<void> {
    const {args, flags} = await this.parse(CorednsQuery)
    const [{queryDns}, {corednsQueryView}] = await Promise.all([
      import('../../cli/coredns/read-command.ts'),
      import('../../present/coredns-view.ts'),
    ])
    let client: ReturnType<typeof this.cluster> | undefined
    const open = () => (client ??= this.cluster(flags))
    await this.finish(
      await queryDns(args.name, flags.type, flags, open, this.interruption.signal),
      corednsQueryView,
      flags,
    )
  }
}
