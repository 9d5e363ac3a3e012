import {Flags} from '@oclif/core'
import {locateFlags, proveFlags} from '../coredns/flags.ts'
import {changeFlags, durationFlag, kubeFlags, noDefault, outputFlags} from '../flags.ts'

const run = 'RUN'

/** Flags of every command that carries out a plan, or a part of one. */
const runFlags = {
  ...kubeFlags,
  ...changeFlags,
  done: Flags.string({
    summary: 'a manual step that is done, where nothing in the cluster can show it; may be repeated',
    multiple: true,
    multipleNonGreedy: true,
    default: [],
    defaultHelp: noDefault,
    helpValue: 'STEP',
    helpGroup: run,
  }),
  'wait-manual': durationFlag('wait-manual', {
    summary: 'how long a manual step is waited for before the run stops with exit code 21',
    default: 0,
    helpGroup: run,
  }),
  'lock-timeout': durationFlag('lock-timeout', {
    summary: 'how long to wait while another run holds the lock',
    default: 0,
    helpGroup: run,
  }),
  'audit-log': Flags.string({
    summary: 'append every write that is sent to this file, a JSON line each',
    helpValue: 'FILE',
    helpGroup: run,
  }),
  'dns-service': locateFlags['dns-service'],
  via: proveFlags.via,
} as const

const {'detailed-exitcode': _, ...resumable} = runFlags

/** Flags of `resume` and `rollback`. */
export const resumeFlags = {...resumable, ...outputFlags(['table', 'json', 'yaml', 'name'])} as const

/** Flags of `enable` and `disable`. */
export const switchFlags = {
  ...runFlags,
  ...outputFlags(['table', 'json', 'yaml', 'name', 'diff']),
  service: Flags.string({
    summary: 'the Service of the ingress, where there are several',
    helpValue: 'NAMESPACE/NAME',
  }),
  plan: Flags.boolean({summary: 'print the plan and write nothing; -o json can be given to --plan-file'}),
  'plan-file': Flags.string({
    summary: 'carry out this plan, and nothing else; refused (32) when the cluster has moved on',
    helpValue: 'FILE',
  }),
  image: Flags.string({
    summary: 'our image, named by digest, for what the plan installs',
    helpValue: 'REPOSITORY@sha256:…',
  }),
  'pull-secret': Flags.string({
    summary: 'Secret in our namespace that the image is pulled with; may be repeated',
    multiple: true,
    multipleNonGreedy: true,
    default: [],
    defaultHelp: noDefault,
    helpValue: 'NAME',
  }),
  'no-guard': Flags.boolean({
    summary: 'switch without a Job in the cluster that puts it back when this run is cut off',
  }),
  'api-path-is-direct': Flags.boolean({
    summary: 'the API server is reached past the ingress, whatever its name looks like',
  }),
  'guard-window': durationFlag('guard-window', {
    summary: 'how long the guard waits for the confirmation of the switch',
    default: 120_000,
  }),
  settle: durationFlag('settle', {
    summary: 'how long answers of before may live on in DNS caches',
    default: 30_000,
  }),
} as const

export interface RunFlagValues {
  readonly namespace?: string | undefined
  readonly done: readonly string[]
  readonly 'wait-manual'?: number | undefined
  readonly 'lock-timeout'?: number | undefined
  readonly 'audit-log'?: string | undefined
  readonly 'dns-service'?: string | undefined
  readonly via: 'auto' | 'api' | 'direct'
  readonly 'dry-run': 'none' | 'client' | 'server'
  readonly yes: boolean
  readonly force: boolean
}

export interface SwitchFlagValues extends RunFlagValues {
  readonly service?: string | undefined
  readonly plan: boolean
  readonly 'plan-file'?: string | undefined
  readonly image?: string | undefined
  readonly 'pull-secret'?: readonly string[] | undefined
  readonly 'no-guard': boolean
  readonly 'api-path-is-direct': boolean
  readonly 'guard-window'?: number | undefined
  readonly settle?: number | undefined
}
