import {Flags} from '@oclif/core'
import {formatDuration, parseDuration} from '../model/duration.ts'
import type {OutputFormat} from '../present/view.ts'

/** Value parsers throw plain errors; oclif turns them into usage errors (exit 2). */
function duration(name: string) {
  return async (text: string): Promise<number> => {
    const milliseconds = parseDuration(text)
    if (milliseconds === undefined)
      throw new Error(`--${name} expects a duration such as 30s or 1m30s, not ${JSON.stringify(text)}`)
    return milliseconds
  }
}

/** A Go duration as kubectl's flags take it, parsed to milliseconds. */
export function durationFlag(
  name: string,
  options: {summary: string; default?: number; env?: string; helpGroup?: string},
) {
  return Flags.custom<number>({
    summary: options.summary,
    parse: duration(name),
    helpValue: 'DURATION',
    ...(options.default === undefined
      ? {}
      : {
          default: options.default,
          defaultHelp: async () => (options.default === 0 ? '0' : formatDuration(options.default as number)),
        }),
    ...(options.env === undefined ? {} : {env: options.env}),
    ...(options.helpGroup === undefined ? {} : {helpGroup: options.helpGroup}),
  })()
}

/** For flags whose default is the empty list: the help names no default instead of an empty one. */
export const noDefault = async (): Promise<undefined> => undefined

const cluster = 'KUBERNETES'

/** kubectl's own connection flags, letter for letter (style: users have them in their fingers). */
export const kubeFlags = {
  kubeconfig: Flags.string({
    summary: 'kubeconfig file instead of $KUBECONFIG or ~/.kube/config',
    helpValue: 'FILE',
    helpGroup: cluster,
  }),
  context: Flags.string({summary: 'kubeconfig context to use', helpValue: 'NAME', helpGroup: cluster}),
  cluster: Flags.string({summary: 'kubeconfig cluster to use', helpValue: 'NAME', helpGroup: cluster}),
  user: Flags.string({summary: 'kubeconfig user to use', helpValue: 'NAME', helpGroup: cluster}),
  namespace: Flags.string({char: 'n', summary: 'namespace of this request', helpValue: 'NAME', helpGroup: cluster}),
  server: Flags.string({
    char: 's',
    summary: 'address and port of the API server',
    helpValue: 'URL',
    helpGroup: cluster,
  }),
  as: Flags.string({summary: 'user to impersonate', helpValue: 'USER', helpGroup: cluster}),
  'as-group': Flags.string({
    summary: 'group to impersonate, may be repeated',
    helpValue: 'GROUP',
    multiple: true,
    multipleNonGreedy: true,
    helpGroup: cluster,
  }),
  'as-uid': Flags.string({summary: 'uid to impersonate', helpValue: 'UID', helpGroup: cluster}),
  token: Flags.string({summary: 'bearer token for the API server', helpValue: 'TOKEN', helpGroup: cluster}),
  'tls-server-name': Flags.string({
    summary: 'name that the server certificate must be for',
    helpValue: 'NAME',
    helpGroup: cluster,
  }),
  'certificate-authority': Flags.string({
    summary: 'file with the certificate authority',
    helpValue: 'FILE',
    helpGroup: cluster,
  }),
  'client-certificate': Flags.string({
    summary: 'file with a client certificate',
    helpValue: 'FILE',
    helpGroup: cluster,
  }),
  'client-key': Flags.string({
    summary: 'file with the key of the client certificate',
    helpValue: 'FILE',
    helpGroup: cluster,
  }),
  'insecure-skip-tls-verify': Flags.boolean({summary: 'do not check the server certificate', helpGroup: cluster}),
  'request-timeout': Flags.string({
    summary: 'limit for a single request, such as 10s; 0 means none',
    helpValue: 'DURATION',
    helpGroup: cluster,
  }),
} as const

/** What the parser makes of `kubeFlags`. */
export type KubeFlagValues = {
  readonly [Name in keyof typeof kubeFlags]?: string | readonly string[] | boolean | undefined
}

const output = 'OUTPUT'

/** `-o`, `--no-headers` and `--jq`. The formats differ by command; the first is the default. */
export function outputFlags<const F extends readonly OutputFormat[]>(formats: F) {
  return {
    output: Flags.option({
      char: 'o',
      options: formats,
      default: formats[0] as F[number],
      summary: 'how to print the result',
      helpGroup: output,
    })(),
    'no-headers': Flags.boolean({summary: 'leave out the header line of tables', helpGroup: output}),
    jq: Flags.string({summary: 'filter the JSON result with a jq program', helpValue: 'PROGRAM', helpGroup: output}),
  } as const
}

/** Flags of every command; `--v` is kubectl's log level, so the version is `--version` only. */
export const globalFlags = {
  color: Flags.option({
    options: ['auto', 'always', 'never'] as const,
    default: 'auto' as const,
    summary: 'colour in tables and diffs',
    helpGroup: output,
  })(),
  v: Flags.integer({
    summary: 'log level on stderr; 4 shows stacks, 6 shows requests',
    default: 0,
    min: 0,
    max: 10,
    helpValue: 'LEVEL',
    helpGroup: output,
  }),
} as const

const change = 'CHANGE'

/** Flags of every command that can write. */
export const changeFlags = {
  'dry-run': Flags.option({
    options: ['none', 'client', 'server'] as const,
    default: 'none' as const,
    summary: 'client sends no write, server sends each with dryRun=All',
    helpGroup: change,
  })(),
  yes: Flags.boolean({char: 'y', summary: 'answer yes to every confirmation', helpGroup: change}),
  force: Flags.boolean({summary: 'write although another owner will put the object back', helpGroup: change}),
  'detailed-exitcode': Flags.boolean({
    summary: 'exit 20 instead of 0 when something changed (or would change)',
    helpGroup: change,
  }),
  timeout: durationFlag('timeout', {
    summary: 'limit for the whole command; 0 means none',
    default: 0,
    helpGroup: change,
  }),
  events: Flags.string({
    summary: 'write events as JSON lines to stderr (jsonl) or to a file (jsonl=FILE)',
    helpValue: 'jsonl[=FILE]',
    helpGroup: change,
  }),
} as const

export const fileFlags = {
  filename: Flags.string({
    char: 'f',
    summary: 'work on this file instead of the cluster; - is stdin',
    helpValue: 'FILE',
  }),
} as const
