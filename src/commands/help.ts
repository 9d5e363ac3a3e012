import {Args, Help as OclifHelp} from '@oclif/core'
import {SrcipCommand} from '../cli/command.ts'

export default class Help extends SrcipCommand {
  static override summary = 'Show how a command is used'
  static override strict = false
  static override args = {
    command: Args.string({ignoreStdin: true, description: 'command to explain, such as coredns apply'}),
  }
  static override examples = ['<%= config.bin %> <%= command.id %> coredns apply']

  async run(): Promise<void> {
    const {argv} = await this.parse(Help)
    await new OclifHelp(this.config, this.config.pjson.oclif.helpOptions).showHelp(argv as string[])
  }
}
