import {availableParallelism} from 'node:os'
import {isMainThread} from 'node:worker_threads'
import {Flags, type Interfaces} from '@oclif/core'
import {SrcipCommand} from '../cli/command.ts'
import {durationFlag, noDefault} from '../cli/flags.ts'
import {flagTable, flagVariable, type FlagRow} from '../proxy/flag-table.ts'
import type {ProxyFlags} from '../proxy/parse-options.ts'

function toFlag(row: FlagRow) {
  const common = {summary: row.summary, env: flagVariable(row.name)}
  switch (row.kind) {
    case 'text':
      return Flags.string({
        ...common,
        helpValue: row.value,
        ...(row.default === undefined ? {required: true} : {default: row.default}),
      })
    case 'list':
      return Flags.string({
        ...common,
        helpValue: row.value,
        multiple: true,
        multipleNonGreedy: true,
        default: [...row.default],
        ...(row.default.length === 0 ? {defaultHelp: noDefault} : {}),
      })
    case 'choice':
      return Flags.string({...common, options: [...row.options], default: row.default})
    case 'switch':
      return Flags.boolean({...common, default: false})
    case 'count':
      return Flags.integer({...common, helpValue: 'COUNT', default: row.default})
    case 'time':
      return durationFlag(row.name, {...common, ...(row.default === undefined ? {} : {default: row.default})})
  }
}

export default class Proxy extends SrcipCommand {
  static override summary = 'Relay TCP to an ingress and put a PROXY header with the client address in front'
  static override description =
    'Runs in a Pod until SIGTERM, with no access to the Kubernetes API. /livez, /readyz and /metrics are on --health-address. Every flag can also be given as SRCIP_<FLAG>; several ports stand in SRCIP_PORT with spaces between them.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --to ingress-nginx-controller.ingress-nginx.svc',
    '<%= config.bin %> <%= command.id %> --to ingress.edge.svc --port 80=8080 --port 443=8443 --port 22=2222,plain',
    '<%= config.bin %> <%= command.id %> --to ingress-pods.edge.svc --send-proxy auto',
  ]
  static override flags: Interfaces.FlagInput = Object.fromEntries(flagTable.map((row) => [row.name, toFlag(row)]))

  async run(): Promise<void> {
    const {parseProxyOptions, superviseProxy, jsonLog, readOuroborosFlags, ouroborosNotice} =
      await import('../proxy/index.ts')
    const log = jsonLog((line) => process.stderr.write(line))
    const compat = readOuroborosFlags(this.argv, process.env)
    if (compat && isMainThread) log('compat', ouroborosNotice)
    const flags = compat ?? ((await this.parse(Proxy)).flags as unknown as ProxyFlags)
    await superviseProxy(parseProxyOptions(flags, availableParallelism()), {log, signal: this.interruption.signal})
  }
}
