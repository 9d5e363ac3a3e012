import {Flags} from '@oclif/core'
import {kubeFlags} from '../cli/flags.ts'
import {SrcipCommand} from '../cli/command.ts'

/** Runs in the Pod of a guard; for people there is nothing to see. */
export default class Guard extends SrcipCommand {
  static override hidden = true
  static override summary = 'Put a switch back unless its run confirms it in time (runs in the cluster)'
  static override flags = {
    ...kubeFlags,
    'config-map': Flags.string({
      summary: 'the ConfigMap with the order of this guard',
      helpValue: 'NAMESPACE/NAME',
      required: true,
    }),
  }

  async run(): Promise<void> {
    const {flags} = await this.parse(Guard)
    const {runGuard} = await import('../cli/workflow/guard.ts')
    const state = await runGuard(await this.cluster(flags), flags['config-map'], {
      signal: this.interruption.signal,
      say: (line) => this.say(line),
    })
    this.say(`guard: ${state}`)
  }
}
