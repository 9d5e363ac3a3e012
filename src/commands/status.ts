import {setTimeout as sleep} from 'node:timers/promises'
import {SrcipCommand} from '../cli/command.ts'
import {statusFlags} from '../cli/status/flags.ts'

export default class Status extends SrcipCommand {
  static override summary = 'Show whether srcip is on: who keeps cluster DNS, what is written, what every pod answers'
  static override description =
    'One row for each controller, Lease, proxy and CoreDNS pod, for the names wanted and written, and for what is outstanding. Pods that are not ready are asked why. Exit code 0 when all is in step or all is off, 22 when a row is an error, 21 when one could not be told.'
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --watch',
    '<%= config.bin %> <%= command.id %> -o json --jq .state',
  ]
  static override flags = statusFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(Status)
    const [{readStatus, statusOfFile}, {statusView}] = await Promise.all([
      import('../cli/status/read-status.ts'),
      import('../present/status.ts'),
    ])
    const client = flags.filename === undefined ? await this.cluster(flags) : await statusOfFile(flags.filename)
    const {signal} = this.interruption
    for (;;) {
      const report = await readStatus(client, flags, signal)
      if (flags.watch && process.stdout.isTTY) await this.print('\u001b[H\u001b[2J')
      await this.finish(report, statusView, flags)
      if (!flags.watch) return
      await sleep(flags.interval ?? 2000, undefined, {signal})
    }
  }
}
