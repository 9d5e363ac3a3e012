import {Args} from '@oclif/core'
import {resumeFlags} from '../cli/workflow/flags.ts'
import {SwitchCommand} from '../cli/workflow/switch-command.ts'

export default class Resume extends SwitchCommand {
  static override summary = 'Go on with a run that was interrupted or waits for a person'
  static override description =
    'Reads the record of the run from the cluster: the plan with every previous value, and how far it got. What is done is looked at again, what may have been begun is done. Works from any machine, with an empty home.'
  static override examples = ['<%= config.bin %> <%= command.id %> 20260102-030405-0a1b2c --wait-manual 10m']
  static override args = {run: Args.string({ignoreStdin: true, description: 'id of the run', required: true})}
  static override flags = resumeFlags

  async run(): Promise<void> {
    const {args, flags} = await this.parse(Resume)
    await this.continue('forward', args.run, flags)
  }
}
