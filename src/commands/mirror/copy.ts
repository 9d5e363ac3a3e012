import {SrcipCommand} from '../../cli/command.ts'
import {
  contentFlags,
  gatherFlags,
  planFileFlag,
  progressFlags,
  referenceArgs,
  registryFlags,
  resultFlags,
  spoolFlags,
  targetFlags,
  writeFlags,
} from '../../cli/mirror/flags.ts'
import {kubeFlags} from '../../cli/flags.ts'

export default class MirrorCopy extends SrcipCommand {
  static override summary = 'Copy images and charts into a registry, every digest intact'
  static override description =
    'Blobs go first, then manifests, then what is attached, and the tag last: a reader never sees half an image. What the target holds is asked of the target, so the same command again goes on where it stopped and uploads nothing that is there. A tag that names another digest is refused (33) without --move-tags. --dry-run=server asks the target by HEAD and shows the bytes to move; client contacts nothing.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> ghcr.io/acme/app:1.0 --to mirror.example.org',
    '<%= config.bin %> <%= command.id %> --plan-file mirror.lock.yaml --to mirror.example.org',
  ]
  static override strict = false
  static override args = referenceArgs
  static override flags = {
    ...targetFlags,
    ...planFileFlag,
    ...gatherFlags,
    ...contentFlags,
    ...writeFlags,
    ...spoolFlags,
    ...registryFlags,
    ...progressFlags,
    ...resultFlags,
    ...kubeFlags,
  }

  async run(): Promise<void> {
    const {flags, argv} = await this.parse(MirrorCopy)
    const {runCopy} = await import('../../cli/mirror/run-copy.ts')
    const {mirrorResultView} = await import('../../present/mirror/result-view.ts')
    const result = await runCopy(argv as string[], flags, {
      signal: this.interruption.signal,
      version: this.config.version,
      onFinish: (close) => this.onFinish(close),
      cluster: () => this.cluster(flags),
    })
    await this.finish(result, mirrorResultView, flags)
  }
}
