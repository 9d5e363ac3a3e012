import {Args} from '@oclif/core'
import {doctorFlags} from '../cli/doctor/flags.ts'
import {SrcipCommand} from '../cli/command.ts'

export default class Doctor extends SrcipCommand {
  static override summary = 'Say where the client address is lost, what breaks, and the cheapest fix'
  static override description =
    'Looks at every way in (Services of type LoadBalancer or NodePort or with externalIPs, and receivers on the ports of nodes), port by port: which hop keeps, translates or carries the client address, by which setting. Two verdicts each: does the application see the address from outside, and do pods get in that call the public name (the hairpin)? Then findings with stable ids (docs/checks.md), cheapest remedy first; "nothing to do" is an answer. Changes nothing, works with few rights, and says "unknown" where it cannot see. Exit code 0 only if every verdict is known and fine, 22 on an error finding, else 21 (with --for the verdicts of the state after the switch count); 30 or 31 when nothing could be read.'
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --for enable',
    '<%= config.bin %> <%= command.id %> svc/ingress-nginx-controller -n ingress-nginx -o wide',
    '<%= config.bin %> <%= command.id %> -f cluster.json --ignore SRC024',
  ]
  static override args = {
    service: Args.string({ignoreStdin: true, description: 'only this Service: svc/NAME', required: false}),
  }
  static override flags = doctorFlags

  async run(): Promise<void> {
    const {args, flags} = await this.parse(Doctor)
    const [{runDoctor}, {doctorView}] = await Promise.all([
      import('../cli/doctor/run-doctor.ts'),
      import('../present/doctor/doctor.ts'),
    ])
    const report = await runDoctor(flags, args.service, {
      open: () => this.cluster(flags),
      namespace: async () => (await this.cluster(flags)).config.namespace,
      signal: this.interruption.signal,
      onEvent: await this.events(),
      now: new Date(),
    })
    await this.finish(report, doctorView, flags)
  }
}
