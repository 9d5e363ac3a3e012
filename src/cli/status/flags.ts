import {Flags} from '@oclif/core'
import {planFlags, queryFlags} from '../coredns/flags.ts'
import {durationFlag, outputFlags} from '../flags.ts'

const {output: _output, force: _force, 'detailed-exitcode': _detailed, ...wanted} = planFlags

/** `status` compares with what `coredns plan` with the same flags would write. */
export const statusFlags = {
  ...wanted,
  filename: Flags.string({
    char: 'f',
    summary: 'a Snapshot instead of the cluster; what only a cluster can answer is unknown then',
    helpValue: 'FILE',
    exclusive: ['watch'],
  }),
  via: queryFlags.via,
  watch: Flags.boolean({char: 'w', summary: 'show it again and again until a signal ends it'}),
  interval: durationFlag('interval', {summary: 'time between two looks of --watch', default: 2000}),
  timeout: durationFlag('timeout', {summary: 'limit for the whole command; 0 means none', default: 0}),
  ...outputFlags(['table', 'json', 'yaml', 'name']),
} as const
