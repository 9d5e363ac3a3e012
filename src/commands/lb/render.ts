import {Args} from '@oclif/core'
import {SrcipCommand} from '../../cli/command.ts'
import {lbFlags} from '../../cli/lb/flags.ts'
import {balancers} from '../../lb/balancer.ts'

export default class LbRender extends SrcipCommand {
  static override summary = 'Write the configuration of a balancer outside the cluster: HAProxy, nginx stream or Envoy'
  static override description =
    'TCP ports of a Service, led to its node ports on every node that takes traffic, with the PROXY header in front and time enough for streams that are silent. Health checks carry the header as well, or ask the health port of kube-proxy where externalTrafficPolicy is Local. Only the configuration is on stdout; what is left out is said on stderr. docs/switching.md says what each program can do.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> haproxy svc/ingress-nginx-controller -n ingress-nginx > haproxy.cfg',
    '<%= config.bin %> <%= command.id %> nginx --backend 443=192.0.2.10:30443 --backend 443=192.0.2.11:30443',
    '<%= config.bin %> <%= command.id %> envoy svc/ingress -f cluster.json --proxy-protocol v2',
  ]
  static override args = {
    balancer: Args.string({required: true, options: [...balancers], description: 'the program'}),
    service: Args.string({required: false, description: 'the ingress Service: svc/NAME'}),
  }
  static override flags = lbFlags

  async run(): Promise<void> {
    const {args, flags} = await this.parse(LbRender)
    const {runRender} = await import('../../cli/lb/run-render.ts')
    const balancer = balancers.find((one) => one === args.balancer) ?? 'haproxy'
    const {text, warnings} = await runRender(balancer, args.service, flags, {
      open: () => this.cluster(flags),
      signal: this.interruption.signal,
    })
    for (const warning of warnings) this.say(`warning: ${warning}`)
    await this.print(text)
  }
}
