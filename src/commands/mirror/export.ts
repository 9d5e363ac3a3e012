import {Args, Flags} from '@oclif/core'
import {SrcipCommand} from '../../cli/command.ts'
import {kubeFlags} from '../../cli/flags.ts'
import {
  contentFlags,
  gatherFlags,
  planFileFlag,
  progressFlags,
  registryFlags,
  resultFlags,
  sizeFlag,
} from '../../cli/mirror/flags.ts'

const {sparse: _sparse, ...exportContent} = contentFlags

export default class MirrorExport extends SrcipCommand {
  static override summary = 'Write images and charts into an archive for a site without network'
  static override description =
    'An OCI layout, readable by skopeo, regctl and ctr: a folder, or one tar where the name ends in .tar. The plan and a checksum list go with it. A cut export is continued by the same command. With - the tar goes to stdout, and what there is to say to stderr. --since leaves out what an earlier export holds, --split cuts the tar to a size.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> mirror.tar --plan-file mirror.lock.yaml --split 4G',
    '<%= config.bin %> <%= command.id %> update.tar --plan-file mirror.lock.yaml --since mirror.tar',
  ]
  static override strict = false
  static override args = {
    archive: Args.string({
      ignoreStdin: true,
      description: 'folder, FILE.tar, or - for a tar on stdout; references may follow',
      required: true,
    }),
  }
  static override flags = {
    ...planFileFlag,
    ...gatherFlags,
    ...exportContent,
    split: sizeFlag('largest size of one file of the tar'),
    since: Flags.string({summary: 'an earlier export: only what it lacks is written', helpValue: 'ARCHIVE'}),
    ...registryFlags,
    ...progressFlags,
    ...resultFlags,
    ...kubeFlags,
  }

  async run(): Promise<void> {
    const {flags, argv} = await this.parse(MirrorExport)
    const {runExport} = await import('../../cli/mirror/run-archive.ts')
    const {mirrorArchiveView} = await import('../../present/mirror/plan-view.ts')
    const [archive = '', ...references] = argv as string[]
    const result = await runExport(
      references,
      {...flags, archive},
      {
        signal: this.interruption.signal,
        version: this.config.version,
        onFinish: (close) => this.onFinish(close),
        cluster: () => this.cluster(flags),
      },
    )
    // stdout holds the archive then; what there is to say goes where people read.
    if (archive === '-') return this.finishAside(result, mirrorArchiveView)
    await this.finish(result, mirrorArchiveView, flags)
  }
}
