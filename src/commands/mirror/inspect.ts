import {Args, Flags} from '@oclif/core'
import {SrcipCommand} from '../../cli/command.ts'
import {resultFlags} from '../../cli/mirror/flags.ts'

export default class MirrorInspect extends SrcipCommand {
  static override summary = 'List an archive and check every digest in it, without any network'
  static override description =
    'Hashes every blob and compares the checksum list beside the archive. Exit 22 when something is missing or different.'
  static override examples = ['<%= config.bin %> <%= command.id %> mirror.tar']
  static override args = {
    archive: Args.string({ignoreStdin: true, description: 'folder, FILE.tar, or FILE.tar.000', required: true}),
  }
  static override flags = {
    quick: Flags.boolean({summary: 'list only, hash nothing'}),
    repository: Flags.string({summary: "where plain tags of another tool's layout belong", helpValue: 'HOST/PATH'}),
    ...resultFlags,
  }

  async run(): Promise<void> {
    const {flags, args} = await this.parse(MirrorInspect)
    const {inspectArchive} = await import('../../registry/mirror/archive.ts')
    const {mirrorArchiveView} = await import('../../present/mirror/plan-view.ts')
    await this.finish(await inspectArchive(args.archive, flags.quick, flags.repository), mirrorArchiveView, flags)
  }
}
