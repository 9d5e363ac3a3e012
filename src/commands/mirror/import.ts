import {Args, Flags} from '@oclif/core'
import {SrcipCommand} from '../../cli/command.ts'
import {
  contentFlags,
  progressFlags,
  registryFlags,
  resultFlags,
  spoolFlags,
  targetFlags,
  writeFlags,
} from '../../cli/mirror/flags.ts'

const {'source-map': _map, 'registries-conf': _conf, ...importRegistry} = registryFlags

export default class MirrorImport extends SrcipCommand {
  static override summary = 'Copy an archive of mirror export, or any OCI layout, into a registry'
  static override description =
    'Reads a folder, a tar, or the parts of a split tar, straight from where they lie; nothing is unpacked and nothing but the target is contacted. Every byte is checked by its digest. The order, the rules for tags and the exit codes are those of mirror copy.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> mirror.tar --to registry.site.example:5000',
    '<%= config.bin %> mirror export - --plan-file mirror.lock.yaml | ssh site <%= config.bin %> <%= command.id %> - --to registry.site.example:5000',
  ]
  static override args = {
    archive: Args.string({
      ignoreStdin: true,
      description: 'folder, FILE.tar, FILE.tar.000, or - for a tar on stdin',
      required: true,
    }),
  }
  static override flags = {
    ...targetFlags,
    ...writeFlags,
    'spool-dir': spoolFlags['spool-dir'],
    repository: Flags.string({
      summary: "where plain tags of another tool's layout belong",
      helpValue: 'HOST/PATH',
      helpGroup: 'TARGET',
    }),
    referrers: contentFlags.referrers,
    ...importRegistry,
    ...progressFlags,
    ...resultFlags,
  }

  async run(): Promise<void> {
    const {flags, args} = await this.parse(MirrorImport)
    const {runImport} = await import('../../cli/mirror/run-archive.ts')
    const {mirrorResultView} = await import('../../present/mirror/result-view.ts')
    const result = await runImport(args.archive, flags, {
      signal: this.interruption.signal,
      version: this.config.version,
      onFinish: (close) => this.onFinish(close),
    })
    await this.finish(result, mirrorResultView, flags)
  }
}
