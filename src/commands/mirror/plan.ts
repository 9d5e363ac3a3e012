import {Flags} from '@oclif/core'
import {SrcipCommand} from '../../cli/command.ts'
import {kubeFlags, outputFlags} from '../../cli/flags.ts'
import {contentFlags, gatherFlags, progressFlags, referenceArgs, registryFlags} from '../../cli/mirror/flags.ts'

const {sparse: _sparse, ...planContent} = contentFlags
const {output: _output, ...shown} = outputFlags(['yaml'])

export default class MirrorPlanCommand extends SrcipCommand {
  static override summary = 'Resolve images and charts to digests: the lock file of a mirror'
  static override description =
    'From references, values, manifests, charts, a Cozystack release, or the Pods of the cluster. The plan names every digest, size, platform and attached artifact, knows nothing of a target, and is the same for the same sources. copy, export and verify read it by --plan-file. What looks like an image and is none that can be planned is named, never dropped silently.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --cozystack ./cozystack --output-file mirror.lock.yaml',
    '<%= config.bin %> <%= command.id %> -f values.yaml -o skopeo',
    '<%= config.bin %> <%= command.id %> oci://registry.example.org/charts/app:1.2.0',
  ]
  static override strict = false
  static override args = referenceArgs
  static override flags = {
    ...gatherFlags,
    ...planContent,
    ...registryFlags,
    ...progressFlags,
    'output-file': Flags.string({
      summary: 'write the lock file here instead of to stdout',
      helpValue: 'FILE',
      helpGroup: 'OUTPUT',
    }),
    output: Flags.option({
      char: 'o',
      options: ['yaml', 'json', 'table', 'wide', 'name', 'regsync', 'crane', 'skopeo'] as const,
      default: 'yaml' as const,
      summary: 'the lock file, a table, or the same list for another tool',
      helpGroup: 'OUTPUT',
    })(),
    ...shown,
    ...kubeFlags,
  }

  async run(): Promise<void> {
    const {flags, argv} = await this.parse(MirrorPlanCommand)
    const {runPlan, writeText} = await import('../../cli/mirror/run-plan.ts')
    const plan = await runPlan(argv as string[], flags, {
      signal: this.interruption.signal,
      version: this.config.version,
      onFinish: (close) => this.onFinish(close),
      cluster: () => this.cluster(flags),
    })
    const {mirrorPlanView} = await import('../../present/mirror/plan-view.ts')
    const {toYaml} = await import('../../present/serialise.ts')
    if (flags['output-file'] !== undefined) {
      await writeText(flags['output-file'], await toYaml(plan))
      this.say(`${flags['output-file']}: ${plan.items.length} items`)
    }
    if (flags.output === 'regsync' || flags.output === 'crane' || flags.output === 'skopeo') {
      const {planFor} = await import('../../registry/mirror/plan.ts')
      const {stringify} = await import('../../registry/yaml-library.ts')
      return this.print(planFor(flags.output, plan, (value) => stringify(value, {lineWidth: 0})))
    }
    // With a file the plan is there; a table says what is in it.
    const output = flags['output-file'] !== undefined && flags.output === 'yaml' ? 'table' : flags.output
    await this.finish({...plan, kind: 'MirrorPlan' as const}, mirrorPlanView, {...flags, output})
  }
}
