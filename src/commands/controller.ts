import {SrcipCommand} from '../cli/command.ts'

/** The word that the chart of ouroboros starts its image with: `run --compat ouroboros`. Its flags are Go's, not oclif's, so they are read by us. */
export default class Controller extends SrcipCommand {
  static override hidden = true
  static override summary = 'Do what ouroboros controller does, with its flags and inside the rights of its chart'
  static override description =
    'The chart of ouroboros 0.8 (as Cozystack ships it) runs with only the image changed: docs/compatibility.md.'
  static override strict = false

  async run(): Promise<void> {
    const {runOuroborosController} = await import('../cli/run/ouroboros.ts')
    process.exitCode = await runOuroborosController(this.argv, this.config.version, this.interruption.signal)
  }
}
