import {Flags} from '@oclif/core'
import {SrcipCommand} from '../../cli/command.ts'
import {kubeFlags} from '../../cli/flags.ts'
import {
  contentFlags,
  gatherFlags,
  planFileFlag,
  progressFlags,
  referenceArgs,
  registryFlags,
  resultFlags,
  targetFlags,
} from '../../cli/mirror/flags.ts'

export default class MirrorVerify extends SrcipCommand {
  static override summary = 'Prove that a mirror holds what a plan promises, as a kubelet would pull it'
  static override description =
    'Reads every manifest back, compares digests, walks every child and asks for every blob; --deep downloads and hashes all of it. With --pull-secret the logins of the cluster are used instead of yours. --in-cluster lets one node of each kind pull the images through a short-lived Pod; without it that answer is "not checked". Exit 22 when something is missing or different.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --plan-file mirror.lock.yaml --to mirror.example.org',
    '<%= config.bin %> <%= command.id %> --plan-file mirror.lock.yaml --to mirror.example.org --pull-secret apps/mirror-login --in-cluster',
  ]
  static override strict = false
  static override args = referenceArgs
  static override flags = {
    ...targetFlags,
    ...planFileFlag,
    filename: gatherFlags.filename,
    values: gatherFlags.values,
    platform: contentFlags.platform,
    referrers: contentFlags.referrers,
    deep: Flags.boolean({summary: 'download every blob and hash it'}),
    ns: Flags.boolean({summary: 'name the source registry in requests (?ns=), as containerd does'}),
    'pull-secret': Flags.string({
      summary: 'pull secret whose login is used',
      helpValue: 'NAMESPACE/NAME',
      multiple: true,
      multipleNonGreedy: true,
    }),
    'in-cluster': Flags.boolean({summary: 'let one node of each kind pull, through a Pod that is removed afterwards'}),
    ...registryFlags,
    ...progressFlags,
    ...resultFlags,
    ...kubeFlags,
  }

  async run(): Promise<void> {
    const {flags, argv} = await this.parse(MirrorVerify)
    const {runVerify} = await import('../../cli/mirror/run-verify.ts')
    const {mirrorVerificationView} = await import('../../present/mirror/plan-view.ts')
    const result = await runVerify(argv as string[], flags, {
      signal: this.interruption.signal,
      version: this.config.version,
      onFinish: (close) => this.onFinish(close),
      cluster: () => this.cluster(flags),
    })
    await this.finish(result, mirrorVerificationView, flags)
  }
}
