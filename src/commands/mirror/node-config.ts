import {Flags} from '@oclif/core'
import {SrcipCommand} from '../../cli/command.ts'
import {changeFlags, kubeFlags, outputFlags} from '../../cli/flags.ts'
import {targetFlags} from '../../cli/mirror/flags.ts'

export default class MirrorNodeConfig extends SrcipCommand {
  static override summary = 'Write the node configuration that makes a cluster pull from the mirror'
  static override description =
    'hosts.toml for containerd, registries.yaml for k3s and RKE2, documents for Talos, registries.conf for CRI-O, an ImageDigestMirrorSet for OpenShift. Images keep their names, nodes fetch them from the mirror and, unless --fallback is given, from nowhere else. What lies in --output-dir already is shown as a diff; --dry-run=client writes nothing.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --plan-file mirror.lock.yaml --to mirror.example.org --runtime containerd',
  ]
  static override flags = {
    ...targetFlags,
    'plan-file': Flags.string({summary: 'lock file of mirror plan; - is stdin', helpValue: 'FILE', required: true}),
    runtime: Flags.option({
      options: ['auto', 'containerd', 'k3s', 'rke2', 'talos', 'cri-o', 'idms'] as const,
      multiple: true,
      multipleNonGreedy: true,
      default: ['auto'],
      summary: 'kind of nodes; auto asks the cluster',
    })(),
    'plain-http': Flags.boolean({summary: 'nodes speak plain http with the mirror'}),
    'node-ca': Flags.string({summary: "path of the mirror's authority on the nodes", helpValue: 'PATH'}),
    login: Flags.boolean({summary: 'leave room for a login of the mirror'}),
    fallback: Flags.boolean({summary: 'let nodes ask the source where the mirror lacks something'}),
    'output-dir': Flags.string({summary: 'write the files below this folder', helpValue: 'DIR'}),
    'dry-run': changeFlags['dry-run'],
    ...outputFlags(['table', 'json', 'yaml', 'name', 'diff']),
    ...kubeFlags,
  }

  async run(): Promise<void> {
    const {flags} = await this.parse(MirrorNodeConfig)
    const {runNodeConfig} = await import('../../cli/mirror/run-node-config.ts')
    const {filesDiff, mirrorFilesView} = await import('../../present/mirror/files-view.ts')
    const result = await runNodeConfig(flags, () => this.cluster(flags), this.interruption.signal)
    for (const line of filesDiff(result)) this.say(line)
    for (const note of result.notes) this.say(`note: ${note}`)
    await this.finish(result, mirrorFilesView, flags)
  }
}
