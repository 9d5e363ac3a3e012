import {SrcipCommand} from '../cli/command.ts'
import {snapshotFlags} from '../cli/snapshot/flags.ts'

export default class SnapshotCommand extends SrcipCommand {
  static override summary = 'Write down what decides where client addresses are kept: one file, no secrets'
  static override description =
    'One pass over Services, Ingresses, Gateways and routes, the pods behind Services that lead in, their settings, the data plane, cloud controllers and cluster DNS, cut down to the fields that checks read. Secrets, tokens and keys never get in; --anonymise also replaces names and addresses, so that the file can go into a bug report. What you may not read, or what does not answer, is listed with verb and resource, and the rest is there (exit 23). Other commands take the file with -f.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --output-file cluster.json',
    '<%= config.bin %> <%= command.id %> --anonymise --output-file for-the-ticket.json',
    'kubectl get ingresses,services -A -o yaml | <%= config.bin %> <%= command.id %> -f - -f manifests/',
  ]
  static override flags = snapshotFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(SnapshotCommand)
    const [{takeSnapshot}, {snapshotView}] = await Promise.all([
      import('../cli/snapshot/take-snapshot.ts'),
      import('../present/snapshot.ts'),
    ])
    const snapshot = await takeSnapshot(flags, {
      open: () => this.cluster(flags),
      signal: this.interruption.signal,
      onEvent: await this.events(),
      now: new Date(),
    })
    const file = flags['output-file']
    if (file === undefined) return await this.finish(snapshot, snapshotView, flags)
    const [{writePrivately}, {jsonPieces, toYaml}] = await Promise.all([
      import('../cli/snapshot/write-snapshot.ts'),
      import('../present/serialise.ts'),
    ])
    await writePrivately(file, flags.output === 'yaml' ? [await toYaml(snapshot)] : jsonPieces(snapshot))
    // The file is the result; a table says what is in it.
    await this.finish(snapshot, snapshotView, {...flags, output: flags.output === 'name' ? 'name' : 'table'})
  }
}
