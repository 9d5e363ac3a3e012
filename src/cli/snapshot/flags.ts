import {Flags} from '@oclif/core'
import {changeFlags, durationFlag, kubeFlags, outputFlags} from '../flags.ts'

const {output: _output, ...shown} = outputFlags(['json'])

export const snapshotFlags = {
  ...kubeFlags,
  filename: Flags.string({
    char: 'f',
    summary: 'read this file or folder instead of the cluster, may be repeated; - is stdin',
    helpValue: 'FILE',
    multiple: true,
    multipleNonGreedy: true,
  }),
  anonymise: Flags.boolean({
    summary: 'replace names, host names and addresses by others, each everywhere by the same',
    helpGroup: 'OUTPUT',
  }),
  'output-file': Flags.string({
    summary: 'write the snapshot here (mode 0600) instead of to stdout',
    helpValue: 'FILE',
    helpGroup: 'OUTPUT',
  }),
  output: Flags.option({
    char: 'o',
    options: ['json', 'yaml', 'table', 'name'] as const,
    default: 'json' as const,
    summary: 'the snapshot itself, or a table of what is in it',
    helpGroup: 'OUTPUT',
  })(),
  ...shown,
  timeout: durationFlag('timeout', {
    summary: 'limit for the whole command; 0 means none',
    default: 0,
    helpGroup: 'CHANGE',
  }),
  events: changeFlags.events,
} as const

/** What the parser makes of them. */
export interface SnapshotFlagValues {
  readonly filename?: readonly string[] | undefined
  readonly namespace?: string | undefined
  readonly anonymise: boolean
  readonly 'output-file'?: string | undefined
  readonly output: 'json' | 'yaml' | 'table' | 'name'
}
