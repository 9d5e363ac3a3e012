import {Args} from '@oclif/core'
import {resumeFlags} from '../cli/workflow/flags.ts'
import {SwitchCommand} from '../cli/workflow/switch-command.ts'

export default class Rollback extends SwitchCommand {
  static override summary = 'Take a run back, last step first, each with its own proof'
  static override description =
    'Puts back the values that the run found, as they stand in its record. Steps that were never begun are left alone; a value that somebody else has changed since is refused (32), never overwritten. What cannot be taken back is named, with exit code 23.'
  static override examples = ['<%= config.bin %> <%= command.id %> 20260102-030405-0a1b2c --yes']
  static override args = {run: Args.string({ignoreStdin: true, description: 'id of the run', required: true})}
  static override flags = resumeFlags

  async run(): Promise<void> {
    const {args, flags} = await this.parse(Rollback)
    await this.continue('back', args.run, flags)
  }
}
