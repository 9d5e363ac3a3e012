import {SwitchCommand} from '../cli/workflow/switch-command.ts'
import {switchFlags} from '../cli/workflow/flags.ts'

export default class Enable extends SwitchCommand {
  static override summary = 'Switch the PROXY protocol on, in staged, proved, reversible steps'
  static override description =
    'Looks at the cluster, names the steps and what fails for how long (--plan), asks, and carries them out: each step is checked, made, proved, and put back where its proof fails. Before the first write every right is asked for and everything is looked at. A run leaves its record in the cluster, so that `resume` and `rollback` work from any machine. Manual steps end with exit code 21 and what to do, or are waited for with --wait-manual. Switched so far: ingress-nginx behind a balancer outside of the cluster. A second run finds nothing to do and writes nothing.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --plan',
    '<%= config.bin %> <%= command.id %> --image registry.example.org/srcip@sha256:… --wait-manual 10m',
    '<%= config.bin %> <%= command.id %> --plan -o json > plan.json && <%= config.bin %> <%= command.id %> --plan-file plan.json',
  ]
  static override flags = switchFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(Enable)
    await this.switch('enable', flags)
  }
}
