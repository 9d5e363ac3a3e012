import {Flags} from '@oclif/core'
import {SrcipCommand} from '../../cli/command.ts'
import {changeFlags, outputFlags} from '../../cli/flags.ts'
import {gatherFlags, planFileFlag, targetFlags} from '../../cli/mirror/flags.ts'

export default class MirrorValues extends SrcipCommand {
  static override summary = 'Write the values that make a chart pull from the mirror'
  static override description =
    'An overlay with the changed keys only, each with the reference that it was; or with --values-in your own file, comments kept. Repositories change, digests are pinned from the plan, the chart itself is never touched. A file that is there already is shown as a diff; --dry-run=client writes nothing.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> -f ./chart --plan-file mirror.lock.yaml --to mirror.example.org --output-file mirror-values.yaml',
    '<%= config.bin %> <%= command.id %> --cozystack ./cozystack --plan-file mirror.lock.yaml --to mirror.example.org',
  ]
  static override flags = {
    ...targetFlags,
    ...planFileFlag,
    filename: Flags.string({char: 'f', summary: 'values, or a chart (folder or .tgz)', helpValue: 'FILE'}),
    values: gatherFlags.values,
    cozystack: gatherFlags.cozystack,
    pin: Flags.option({
      options: ['keep', 'child', 'none'] as const,
      default: 'keep' as const,
      summary: 'digest to write: of the plan, of one platform, none',
    })(),
    platform: Flags.string({summary: 'platform for --pin child', helpValue: 'OS/ARCH'}),
    'values-prefix': Flags.string({summary: 'keys that the chart lies under in a wrapper', helpValue: 'KEY.KEY'}),
    'values-in': Flags.string({summary: 'edit this file instead of writing an overlay', helpValue: 'FILE'}),
    'pull-secret-name': Flags.string({summary: 'add imagePullSecrets with this name', helpValue: 'NAME'}),
    'output-file': Flags.string({summary: 'write here instead of to stdout', helpValue: 'FILE'}),
    'dry-run': changeFlags['dry-run'],
    ...outputFlags(['table', 'json', 'yaml', 'name', 'diff']),
  }

  async run(): Promise<void> {
    const {flags} = await this.parse(MirrorValues)
    const {runValues} = await import('../../cli/mirror/run-values.ts')
    const {filesDiff, mirrorFilesView} = await import('../../present/mirror/files-view.ts')
    const result = await runValues(flags)
    for (const line of filesDiff(result)) this.say(line)
    for (const note of result.notes) this.say(`note: ${note}`)
    await this.finish(result, mirrorFilesView, flags)
  }
}
