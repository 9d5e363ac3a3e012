import {kubeFlags, outputFlags} from '../cli/flags.ts'
import {SrcipCommand} from '../cli/command.ts'

export default class Runs extends SrcipCommand {
  static override summary = 'List the runs of enable and disable that have left a record in the cluster'
  static override description =
    'One line for each run, oldest first: what it switches, how it stands, at which step, and who started it. Records are ConfigMaps with the label srcip.dev/component=run in kube-system, for tenants in their namespace.'
  static override examples = ['<%= config.bin %> <%= command.id %>', '<%= config.bin %> <%= command.id %> -o json']
  static override flags = {...kubeFlags, ...outputFlags(['table', 'json', 'yaml', 'name'])}

  async run(): Promise<void> {
    const {flags} = await this.parse(Runs)
    const [{listRuns}, {runListView}] = await Promise.all([
      import('../cli/workflow/resume.ts'),
      import('../present/workflow/run.ts'),
    ])
    const client = await this.cluster(flags)
    await this.finish(await listRuns(client, flags.namespace, this.interruption.signal), runListView, flags)
  }
}
