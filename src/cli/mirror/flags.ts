import {Args, Flags} from '@oclif/core'
import {parseBytes} from '../../model/bytes.ts'
import {changeFlags, durationFlag, outputFlags} from '../flags.ts'

const registry = 'REGISTRY'
const choice = 'WHAT TO CARRY'

function repeated(summary: string, helpValue: string, helpGroup: string, char?: 'f') {
  return Flags.string({
    summary,
    helpValue,
    helpGroup,
    multiple: true,
    multipleNonGreedy: true,
    ...(char === undefined ? {} : {char}),
  })
}

/** How registries are reached. No flag takes a password: stdin, files and credential programs do. */
export const registryFlags = {
  'plain-http': repeated('registry that is spoken to in plain http; no other ever is', 'HOST', registry),
  'ca-file': repeated('PEM file with an authority that registries may be signed by', 'FILE', registry),
  'client-cert': repeated('client certificate and key for one registry', 'HOST=CERT,KEY', registry),
  'skip-tls-verify': repeated('registry whose certificate is not checked', 'HOST', registry),
  authfile: Flags.string({
    summary: 'login file (docker, podman or Helm) to look in first',
    helpValue: 'FILE',
    helpGroup: registry,
  }),
  username: Flags.string({
    summary: 'login for one registry; its password is read from stdin',
    helpValue: 'HOST=USER',
    helpGroup: registry,
  }),
  'source-map': repeated('read a registry or path from somewhere else', 'FROM=TO', registry),
  'registries-conf': Flags.string({
    summary: 'read sources through the mirrors of a registries.conf',
    helpValue: 'FILE',
    helpGroup: registry,
  }),
} as const

/** Where references come from. */
export const gatherFlags = {
  filename: repeated(
    'values, manifests, a chart (folder or .tgz), a Snapshot or a list; - is stdin',
    'FILE',
    choice,
    'f',
  ),
  values: repeated('values laid over those of charts', 'FILE', choice),
  cozystack: Flags.string({
    summary: 'folder of a Cozystack release: its ouroboros chart by digest and every image of it',
    helpValue: 'PATH',
    helpGroup: choice,
  }),
  'from-cluster': Flags.boolean({summary: 'the images that the Pods of the cluster run', helpGroup: choice}),
  own: Flags.boolean({
    summary: 'the chart and image of this product; the default with --cozystack',
    allowNo: true,
    helpGroup: choice,
  }),
} as const

/** What of an image travels. */
export const contentFlags = {
  platform: repeated('only this platform: its digest takes the place of the index', 'OS/ARCH', choice),
  sparse: Flags.boolean({
    summary: 'with --platform: keep the index, leave the other platforms out',
    dependsOn: ['platform'],
    helpGroup: choice,
  }),
  'skip-attestations': Flags.boolean({summary: 'leave the attestations inside indexes out', helpGroup: choice}),
  referrers: Flags.boolean({
    summary: 'signatures, attestations and SBOMs attached to images',
    allowNo: true,
    default: true,
    helpGroup: choice,
  }),
} as const

const target = 'TARGET'

export const targetFlags = {
  to: Flags.string({
    summary: 'registry, and path before every repository',
    helpValue: 'HOST[/PREFIX]',
    required: true,
    helpGroup: target,
  }),
  layout: Flags.option({
    options: ['keep', 'host-prefix', 'flat'] as const,
    default: 'keep' as const,
    summary: 'path at the target: as at the source, below the source host, or joined by dashes',
    helpGroup: target,
  })(),
} as const

export const planFileFlag = {
  'plan-file': Flags.string({summary: 'lock file of mirror plan; - is stdin', helpValue: 'FILE', helpGroup: choice}),
} as const

/** Copies and imports write into a registry. */
export const writeFlags = {
  'move-tags': Flags.boolean({summary: 'move tags that name another digest at the target', helpGroup: target}),
  'trust-manifests': Flags.boolean({
    summary: 'believe that a target with the manifest has all of it',
    helpGroup: target,
  }),
  'dry-run': changeFlags['dry-run'],
  'detailed-exitcode': changeFlags['detailed-exitcode'],
} as const

/** Blobs on their way over the disk. */
export const spoolFlags = {
  spool: Flags.option({
    options: ['auto', 'always', 'never'] as const,
    default: 'auto' as const,
    summary: 'put large blobs on the disk before the upload: when a try broke or the target is slow, always, or never',
    helpGroup: target,
  })(),
  'spool-dir': Flags.string({
    summary: 'folder for that; the one for temporary files by default',
    helpValue: 'DIR',
    helpGroup: target,
  }),
} as const

export const progressFlags = {
  timeout: durationFlag('timeout', {
    summary: 'limit for the whole command; 0 means none',
    default: 0,
    helpGroup: 'CHANGE',
  }),
  events: changeFlags.events,
} as const

export const resultFlags = outputFlags(['table', 'wide', 'json', 'yaml', 'name'])

/** `4G`, `700MiB`. */
export function sizeFlag(summary: string) {
  return Flags.custom<number>({
    summary,
    helpValue: 'SIZE',
    parse: async (text) => {
      const bytes = parseBytes(text)
      if (bytes === undefined) throw new Error(`expected a size such as 4G or 700M, not ${JSON.stringify(text)}`)
      return bytes
    },
  })()
}

export const referenceArgs = {
  reference: Args.string({
    description: 'image, chart (oci://…) or other artifact, as HOST/PATH:TAG, HOST/PATH@DIGEST or both',
    required: false,
  }),
} as const

/** What the parser makes of the flags that most commands share. */
export interface SessionFlags {
  readonly 'plain-http'?: string[] | undefined
  readonly 'ca-file'?: string[] | undefined
  readonly 'client-cert'?: string[] | undefined
  readonly 'skip-tls-verify'?: string[] | undefined
  readonly authfile?: string | undefined
  readonly username?: string | undefined
  readonly 'source-map'?: string[] | undefined
  readonly 'registries-conf'?: string | undefined
  readonly events?: string | undefined
  readonly color: 'auto' | 'always' | 'never'
}
