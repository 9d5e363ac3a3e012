import {Flags} from '@oclif/core'
import {changeFlags, durationFlag, kubeFlags, outputFlags} from '../flags.ts'

const group = 'QUESTION'
const temporary = 'TEMPORARY ECHO'

/** How every question of `verify` is asked. */
export const askFlags = {
  cacert: Flags.file({summary: 'PEM file with the authorities to trust', helpValue: 'FILE', helpGroup: group}),
  insecure: Flags.boolean({char: 'k', summary: 'do not check certificates of the way in', helpGroup: group}),
  'answer-timeout': durationFlag('answer-timeout', {
    summary: 'limit for one connection, handshake and answer together',
    default: 10_000,
    helpGroup: group,
  }),
  timeout: durationFlag('timeout', {summary: 'limit for the whole command; 0 means none', default: 0}),
  ...outputFlags(['table', 'json', 'yaml', 'name']),
} as const

/** `verify outside` needs the cluster only for the addresses of its nodes. */
export const outsideFlags = {
  ...kubeFlags,
  ...askFlags,
  url: Flags.string({
    summary: 'page behind the way in that must answer',
    helpValue: 'URL',
    required: true,
    helpGroup: group,
  }),
  'from-address': Flags.string({
    summary: 'the address that the backend must have seen: yours, as it is outside',
    helpValue: 'ADDRESS',
    required: true,
    helpGroup: group,
  }),
  echo: Flags.string({
    summary:
      'page behind the same way in that answers with the address it saw (kubectl srcip whoami); --url without it',
    helpValue: 'URL',
    helpGroup: group,
  }),
  address: Flags.string({
    summary: 'ask this address instead of those that the name has, may be repeated',
    helpValue: 'ADDRESS',
    multiple: true,
    multipleNonGreedy: true,
    helpGroup: group,
  }),
  'each-node': Flags.boolean({
    summary: 'ask every address of every node of the cluster too, each by a fresh connection',
    helpGroup: group,
  }),
  'node-port': Flags.integer({
    summary: 'port on the nodes, where it is not the port of the URL',
    helpValue: 'PORT',
    min: 1,
    max: 65_535,
    helpGroup: group,
  }),
  'create-echo': Flags.boolean({
    summary: 'a write: Pod, Service and Ingress of an echo for --host, taken out again at the end and on signals',
    dependsOn: ['host', 'image'],
    exclusive: ['echo'],
    helpGroup: temporary,
  }),
  host: Flags.string({
    summary: 'name for the Ingress of the temporary echo; it must lead to the same way in as --url',
    helpValue: 'NAME',
    helpGroup: temporary,
  }),
  image: Flags.string({
    summary: 'image of kubectl srcip that the nodes can pull, by digest',
    helpValue: 'IMAGE',
    helpGroup: temporary,
  }),
  'ingress-class': Flags.string({
    summary: 'class of the Ingress of the temporary echo',
    helpValue: 'CLASS',
    helpGroup: temporary,
  }),
  'tls-secret': Flags.string({
    summary: 'Secret with the certificate for --host in the namespace of the echo',
    helpValue: 'NAME',
    helpGroup: temporary,
  }),
  yes: changeFlags.yes,
  times: Flags.integer({
    summary: 'connections to each address',
    helpValue: 'COUNT',
    default: 1,
    min: 1,
    helpGroup: group,
  }),
  'must-refuse': Flags.string({
    summary: 'address and port that must not answer, such as a node port behind the balancer; may be repeated',
    helpValue: 'ADDRESS:PORT',
    multiple: true,
    multipleNonGreedy: true,
    helpGroup: group,
  }),
} as const
