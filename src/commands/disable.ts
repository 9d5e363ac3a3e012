import {SwitchCommand} from '../cli/workflow/switch-command.ts'
import {switchFlags} from '../cli/workflow/flags.ts'

export default class Disable extends SwitchCommand {
  static override summary = 'Switch the PROXY protocol off again, in staged, proved, reversible steps'
  static override description =
    'The mirror image of `enable`: the proxy follows each pod of the receiver, balancer and receiver become plain and are proved, the names leave cluster DNS and the caches, and the proxy goes last. Works on clusters that were switched by hand, too. What Helm has installed is left to `helm uninstall`, as a manual step.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --plan',
    '<%= config.bin %> <%= command.id %> --wait-manual 10m --yes',
  ]
  static override flags = switchFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(Disable)
    await this.switch('disable', flags)
  }
}
