import {Args, Flags} from '@oclif/core'
import {SrcipCommand} from '../../cli/command.ts'
import {queryFlags} from '../../cli/coredns/flags.ts'
import {askFlags} from '../../cli/verify/flags.ts'

const {filename: _, ...clusterFlags} = queryFlags

export default class VerifyInside extends SrcipCommand {
  static override summary = 'Prove that pods reach a name: through every CoreDNS pod and every pod of the proxy'
  static override description =
    'Every CoreDNS pod must answer with the address of the proxy Service, and a fresh connection through each ready pod of the proxy, TLS on port 443, must be answered by the ingress. All of it runs through the API server and needs pods/portforward. Exit codes as in verify outside.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> shop.example.org',
    '<%= config.bin %> <%= command.id %> shop.example.org --path /healthz -o json',
  ]
  static override args = {host: Args.string({ignoreStdin: true, required: true, description: 'name that pods call'})}
  static override flags = {
    ...clusterFlags,
    ...askFlags,
    path: Flags.string({summary: 'page to ask for', helpValue: 'PATH', default: '/', helpGroup: 'QUESTION'}),
  }

  async run(): Promise<void> {
    const {args, flags} = await this.parse(VerifyInside)
    const [{proveInside}, {verifyView}] = await Promise.all([
      import('../../cli/verify/inside.ts'),
      import('../../present/verify.ts'),
    ])
    const client = await this.cluster(flags)
    await this.finish(await proveInside(args.host, flags, client, this.interruption.signal), verifyView, flags)
  }
}
