import {changeFlags, kubeFlags} from '../cli/flags.ts'
import {SrcipCommand} from '../cli/command.ts'
import {confirm} from '../cli/terminal.ts'

export default class Unlock extends SrcipCommand {
  static override summary = 'Free the lock of a run whose process is gone'
  static override description =
    'One run at a time holds the Lease `srcip` (kube-system; with -n that of a tenant). A process that died leaves it behind for 15 seconds, after which the next run takes it over by itself. This command waits for that time and frees it; a holder that still renews is refused (33). --force deletes the Lease of a live holder: its run loses the lock and stops before its next write.'
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --force --yes',
  ]
  static override flags = {...kubeFlags, yes: changeFlags.yes, force: changeFlags.force, timeout: changeFlags.timeout}

  async run(): Promise<void> {
    const {flags} = await this.parse(Unlock)
    const {unlock} = await import('../cli/workflow/unlock.ts')
    const namespace = flags.namespace ?? 'kube-system'
    const holder = await unlock(await this.cluster(flags), namespace, {
      force: flags.force,
      approve: ({identity, renewTime}) =>
        confirm(
          `free lease/${namespace}/srcip, held by ${identity}, renewed ${renewTime ?? 'at an unknown time'}?`,
          flags,
        ),
      signal: this.interruption.signal,
    })
    this.say(holder === undefined ? `nobody holds lease/${namespace}/srcip` : `freed: ${holder.identity} held it`)
  }
}
