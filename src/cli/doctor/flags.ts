import {Flags} from '@oclif/core'
import {changeFlags, durationFlag, kubeFlags, outputFlags} from '../flags.ts'

const group = 'DIAGNOSIS'
const evidence = 'EVIDENCE'

const many = (summary: string, helpValue: string) =>
  Flags.string({
    summary: `${summary}; may be repeated`,
    helpValue,
    multiple: true,
    multipleNonGreedy: true,
    helpGroup: evidence,
  })

export const doctorFlags = {
  ...kubeFlags,
  filename: Flags.string({
    char: 'f',
    summary: 'look at this Snapshot, file or folder of manifests instead of the cluster, may be repeated; - is stdin',
    helpValue: 'FILE',
    multiple: true,
    multipleNonGreedy: true,
  }),
  for: Flags.option({
    options: ['enable', 'disable'] as const,
    summary: 'verdicts also for the state after PROXY is switched on or off, and what the switch would break',
    helpGroup: group,
  })(),
  ignore: Flags.string({
    summary: 'leave these findings out, such as SRC024; may be repeated or comma-separated',
    helpValue: 'ID',
    multiple: true,
    multipleNonGreedy: true,
    helpGroup: group,
  }),
  logs: Flags.boolean({
    summary: 'read the logs of the ingress pods too: hairpin, missing header, header that is not read, health checks',
    helpGroup: evidence,
  }),
  since: durationFlag('since', {summary: 'how far --logs looks back', default: 600_000, helpGroup: evidence}),
  'log-file': many('a log of an ingress that somebody saved', 'FILE'),
  'capture-file': many('a capture of tcpdump from a node, pcap or text of -A or -X: how do connections begin?', 'FILE'),
  capture: Flags.boolean({
    summary: 'a write: an ephemeral container with tcpdump in one ingress pod, which stays until the pod is replaced',
    dependsOn: ['capture-image'],
    exclusive: ['filename'],
    helpGroup: evidence,
  }),
  'capture-image': Flags.string({
    summary: 'image with tcpdump and timeout that the node can pull',
    helpValue: 'IMAGE',
    helpGroup: evidence,
  }),
  'capture-time': durationFlag('capture-time', {
    summary: 'how long to capture, at most 60s',
    default: 30_000,
    helpGroup: evidence,
  }),
  save: Flags.string({
    summary:
      'keep what --capture has seen in this file, as text of tcpdump -x; it holds payload, without this nothing is kept',
    dependsOn: ['capture'],
    helpValue: 'FILE',
    helpGroup: evidence,
  }),
  yes: changeFlags.yes,
  'balancer-cidr': many('where the balancer connects from, which no object of a cluster tells', 'CIDR'),
  'pod-cidr': many('range of the pods, for logs and captures of a cluster that is not at hand', 'CIDR'),
  'node-cidr': many('addresses of the nodes, likewise', 'CIDR'),
  timeout: durationFlag('timeout', {
    summary: 'limit for the whole command; 0 means none',
    default: 0,
    helpGroup: 'CHANGE',
  }),
  events: changeFlags.events,
  ...outputFlags(['table', 'wide', 'json', 'yaml', 'name', 'html', 'junit']),
} as const

/** What the parser makes of them. */
export interface DoctorFlagValues {
  readonly filename?: readonly string[] | undefined
  readonly namespace?: string | undefined
  readonly for?: 'enable' | 'disable' | undefined
  readonly ignore?: readonly string[] | undefined
  readonly logs?: boolean
  readonly since?: number | undefined
  readonly 'log-file'?: readonly string[] | undefined
  readonly 'capture-file'?: readonly string[] | undefined
  readonly capture?: boolean
  readonly 'capture-image'?: string | undefined
  readonly 'capture-time'?: number | undefined
  readonly save?: string | undefined
  readonly yes?: boolean
  readonly 'balancer-cidr'?: readonly string[] | undefined
  readonly 'pod-cidr'?: readonly string[] | undefined
  readonly 'node-cidr'?: readonly string[] | undefined
}
