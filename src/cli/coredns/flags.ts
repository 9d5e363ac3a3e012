import {Flags} from '@oclif/core'
import type {OutputFormat} from '../../present/view.ts'
import {changeFlags, durationFlag, fileFlags, kubeFlags, outputFlags} from '../flags.ts'

const group = 'HOSTS'
const dns = 'CLUSTER DNS'

const many = (summary: string, helpValue: string) =>
  Flags.string({summary, helpValue, multiple: true, multipleNonGreedy: true, delimiter: ',', helpGroup: group})

/** Which names are wanted. None given: those of the cluster's Ingresses and routes. */
const hostFlags = {
  host: many('a wanted name, may be repeated; the names given are the whole wanted set', 'NAME'),
  'hosts-file': Flags.string({
    summary: 'file with one wanted name a line, # begins a comment',
    helpValue: 'FILE',
    helpGroup: group,
  }),
  exclude: many('leave this name out, *.SUFFIX for all below it; may be repeated', 'NAME'),
  'ingress-class': many('only Ingresses of these classes: names or spec.controller values', 'CLASS'),
  wildcards: Flags.boolean({summary: 'take wildcard hosts too (CoreDNS 1.8.4 or newer)', helpGroup: group}),
} as const

/** Where and how cluster DNS is read and asked. */
export const locateFlags = {
  target: Flags.string({
    summary: 'the proxy Service that the names lead to (srcip/srcip-proxy)',
    helpValue: 'NAMESPACE/NAME',
    helpGroup: dns,
  }),
  'dns-service': Flags.string({
    summary: 'the DNS Service, where several could be it',
    helpValue: 'NAMESPACE/NAME',
    helpGroup: dns,
  }),
  'coredns-version': Flags.string({
    summary: 'CoreDNS release, where the image does not tell it',
    helpValue: 'X.Y.Z',
    helpGroup: dns,
  }),
  'cluster-domain': Flags.string({
    summary: 'zone of the cluster, where the kubernetes line does not tell it',
    helpValue: 'ZONE',
    helpGroup: dns,
  }),
  owner: Flags.option({
    options: ['srcip', 'ouroboros'] as const,
    default: 'srcip' as const,
    summary: 'whose markers and import key are used',
    helpGroup: dns,
  })(),
} as const

const editFlags = {
  before: Flags.boolean({
    summary: "take names that an operator's rule catches, by standing in front of it",
    helpGroup: dns,
  }),
  repair: Flags.boolean({
    summary: 'mend damaged marker lines; shows the diff, asks before it is written',
    helpGroup: dns,
  }),
  mode: Flags.option({
    options: ['auto', 'import', 'corefile'] as const,
    default: 'auto' as const,
    summary: 'import: only through a key of a mounted ConfigMap; corefile: only between markers in the Corefile',
    helpGroup: dns,
  })(),
} as const

/** How pods of CoreDNS are asked, and for how long. */
export const proveFlags = {
  via: Flags.option({
    options: ['auto', 'api', 'direct'] as const,
    default: 'auto' as const,
    summary: 'how CoreDNS pods are asked: through the API server, or at their addresses',
    helpGroup: dns,
  })(),
  'verify-timeout': durationFlag('verify-timeout', {
    summary: 'how long the pods may take to answer with the change',
    default: 180_000,
    helpGroup: dns,
  }),
} as const

const writeFlags = {
  'restart-coredns': Flags.boolean({
    summary: 'restart CoreDNS after the write, where the plugin reload is not loaded',
    helpGroup: dns,
  }),
  'in-place': Flags.boolean({
    summary: 'with -f: write the file back in one step instead of printing it',
    dependsOn: ['filename'],
    helpGroup: 'CHANGE',
  }),
} as const

/** -o without a default: with -f the result is the new file itself unless a document is asked for. */
function optionalOutput<const F extends readonly OutputFormat[]>(formats: F) {
  const flags = outputFlags(formats)
  return {
    ...flags,
    output: Flags.option({char: 'o', options: formats, summary: 'how to print the result', helpGroup: 'OUTPUT'})(),
  } as const
}

const allowEmpty = Flags.boolean({summary: 'let an empty wanted set take every line of ours out', helpGroup: group})

export const showFlags = {
  ...kubeFlags,
  ...fileFlags,
  ...locateFlags,
  ...outputFlags(['table', 'wide', 'json', 'yaml', 'name']),
} as const

export const queryFlags = {...showFlags, via: proveFlags.via} as const

export const planFlags = {
  ...kubeFlags,
  ...fileFlags,
  ...hostFlags,
  ...locateFlags,
  ...editFlags,
  'allow-empty': allowEmpty,
  'restart-coredns': writeFlags['restart-coredns'],
  force: changeFlags.force,
  'detailed-exitcode': changeFlags['detailed-exitcode'],
  ...outputFlags(['table', 'wide', 'json', 'yaml', 'name', 'diff']),
} as const

const documentFormats = ['table', 'wide', 'json', 'yaml', 'name', 'diff'] as const

export const applyFlags = {
  ...kubeFlags,
  ...fileFlags,
  ...hostFlags,
  ...locateFlags,
  ...editFlags,
  ...proveFlags,
  ...writeFlags,
  ...changeFlags,
  'allow-empty': allowEmpty,
  ...optionalOutput(documentFormats),
} as const

const {owner: _owner, ...ownLocateFlags} = locateFlags

export const adoptFlags = {
  ...kubeFlags,
  ...fileFlags,
  exclude: hostFlags.exclude,
  ...ownLocateFlags,
  ...editFlags,
  ...proveFlags,
  ...writeFlags,
  'stop-other': Flags.boolean({
    summary: 'scale the other controller to 0 first and wait until its pods are gone',
    helpGroup: 'CHANGE',
  }),
  ...changeFlags,
  ...optionalOutput(documentFormats),
} as const

export const cleanFlags = {
  ...kubeFlags,
  ...fileFlags,
  ...locateFlags,
  ...proveFlags,
  ...writeFlags,
  ...changeFlags,
  repair: editFlags.repair,
  ...optionalOutput(documentFormats),
} as const
