import {parseReference, type TargetPrefix} from '../reference.ts'
import {targetRepository, type PathLayout} from '../target.ts'
import type {MirrorPlan} from '../../model/mirror.ts'
import {SrcipError} from '../../model/errors.ts'

export const runtimes = ['containerd', 'k3s', 'rke2', 'talos', 'cri-o', 'idms'] as const
export type Runtime = (typeof runtimes)[number]

export interface NodeConfigOptions {
  readonly to: TargetPrefix
  readonly layout: PathLayout
  /** The mirror speaks plain http. */
  readonly plainHttp: boolean
  /** Path of the mirror's authority on the nodes. */
  readonly caPath?: string | undefined
  /** The mirror wants a login: its place is shown, never its value. */
  readonly login: boolean
  /** Let nodes fall back to the source where the mirror lacks something. */
  readonly fallback: boolean
}

export interface ConfigFile {
  readonly name: string
  readonly content: string
}

/** One registry whose images come from the mirror, with the paths in use. */
interface MirroredHost {
  readonly host: string
  /** Path on the mirror that stands for the root of the source. */
  readonly base: string
  readonly repositories: readonly string[]
}

/** Which registries a plan draws from, and below which path of the mirror each lies. */
export function mirroredHosts(
  plan: MirrorPlan,
  {to, layout}: Pick<NodeConfigOptions, 'to' | 'layout'>,
): MirroredHost[] {
  if (layout === 'flat') {
    throw new SrcipError(
      'Precondition',
      'paths joined by dashes cannot be mirrored on the nodes: no runtime rewrites them so',
      {hints: ['copy with --layout keep or host-prefix, or rewrite the values: mirror values']},
    )
  }
  const hosts = new Map<string, Set<string>>()
  for (const item of plan.items) {
    const {host, repository} = parseReference(`${item.source}@${item.digest}`)
    hosts.set(host, (hosts.get(host) ?? new Set()).add(repository))
  }
  return [...hosts]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([host, repositories]) => {
      const probe = targetRepository({host, repository: 'x'}, to, layout, false)
      return {host, base: probe.slice(0, -1).replace(/\/$/, ''), repositories: [...repositories].sort()}
    })
}

function origin({to, plainHttp}: NodeConfigOptions): string {
  return `${plainHttp ? 'http' : 'https'}://${to.host}`
}

/** Quotes a TOML or YAML string; both take JSON's form. */
const quote = JSON.stringify as (text: string) => string

function endpoint({base}: MirroredHost, options: NodeConfigOptions): string {
  return base === '' ? origin(options) : `${origin(options)}/v2/${base}`
}

/** containerd: one hosts.toml a registry (docs/hosts.md of containerd). Without fallback the server itself is the mirror. */
function containerd(hosts: readonly MirroredHost[], options: NodeConfigOptions): ConfigFile[] {
  return hosts.map((mirrored) => {
    const address = endpoint(mirrored, options)
    const server = mirrored.host === 'docker.io' ? 'https://registry-1.docker.io' : `https://${mirrored.host}`
    const override = mirrored.base !== ''
    const lines = [
      `server = ${quote(options.fallback ? server : address)}`,
      ...(override && !options.fallback ? ['override_path = true'] : []),
      '',
      `[host.${quote(address)}]`,
      '  capabilities = ["pull", "resolve"]',
      ...(override ? ['  override_path = true'] : []),
      ...(options.caPath === undefined ? [] : [`  ca = ${quote(options.caPath)}`]),
      ...(options.login
        ? ['  # login: [host."…".header] authorization = ["Basic …"], or the registry\'s auth in config.toml']
        : []),
    ]
    // A colon is no part of a folder name everywhere; containerd reads HOST_PORT_ as well.
    const folder = mirrored.host.replace(/:(\d+)$/, '_$1_')
    return {name: `etc/containerd/certs.d/${folder}/hosts.toml`, content: `${lines.join('\n')}\n`}
  })
}

interface Stringify {
  (value: unknown): string
}

function k3s(
  hosts: readonly MirroredHost[],
  options: NodeConfigOptions,
  stringify: Stringify,
  folder: string,
): ConfigFile[] {
  const mirrors = Object.fromEntries(
    hosts.map((mirrored) => [
      mirrored.host,
      {endpoint: [origin(options)], ...(mirrored.base === '' ? {} : {rewrite: {'^(.*)$': `${mirrored.base}/$1`}})},
    ]),
  )
  const config = {
    ...(options.login ? {auth: {username: 'USER', password: 'PASSWORD'}} : {}),
    ...(options.caPath === undefined ? {} : {tls: {ca_file: options.caPath}}),
  }
  const document = {mirrors, ...(Object.keys(config).length === 0 ? {} : {configs: {[options.to.host]: config}})}
  const note = options.fallback
    ? ''
    : '# servers need --disable-default-registry-endpoint, or the source is still tried last\n'
  return [{name: `etc/rancher/${folder}/registries.yaml`, content: note + stringify(document)}]
}

/** Talos 1.12 and newer: documents of their own. */
function talos(hosts: readonly MirroredHost[], options: NodeConfigOptions, stringify: Stringify): ConfigFile[] {
  const documents: unknown[] = hosts.map((mirrored) => ({
    apiVersion: 'v1alpha1',
    kind: 'RegistryMirrorConfig',
    name: mirrored.host,
    endpoints: [{url: endpoint(mirrored, options), ...(mirrored.base === '' ? {} : {overridePath: true})}],
    ...(options.fallback ? {} : {skipFallback: true}),
  }))
  if (options.caPath !== undefined)
    documents.push({
      apiVersion: 'v1alpha1',
      kind: 'RegistryTLSConfig',
      name: options.to.host,
      ca: `PEM of ${options.caPath}`,
    })
  if (options.login)
    documents.push({
      apiVersion: 'v1alpha1',
      kind: 'RegistryAuthConfig',
      name: options.to.host,
      username: 'USER',
      password: 'PASSWORD',
    })
  const machine = {
    machine: {
      registries: {
        mirrors: Object.fromEntries(
          hosts.map((mirrored) => [
            mirrored.host,
            {
              endpoints: [endpoint(mirrored, options)],
              ...(mirrored.base === '' ? {} : {overridePath: true}),
              ...(options.fallback ? {} : {skipFallback: true}),
            },
          ]),
        ),
      },
    },
  }
  return [
    {name: 'talos/registry-mirrors.yaml', content: documents.map(stringify).join('---\n')},
    {
      name: 'talos/machine-registries.yaml',
      content: `# for Talos before 1.12: a patch of the machine configuration\n${stringify(machine)}`,
    },
  ]
}

/** CRI-O and podman: mirrors for digests only, so that a tag never comes from somewhere else unseen. */
function crio(hosts: readonly MirroredHost[], options: NodeConfigOptions): ConfigFile[] {
  const entries = hosts.map((mirrored) =>
    [
      '[[registry]]',
      `prefix = ${quote(mirrored.host)}`,
      `location = ${quote(mirrored.host)}`,
      ...(options.fallback
        ? []
        : ['# never contact the source; tags of it then fail, so pin digests', 'blocked = true']),
      '',
      '[[registry.mirror]]',
      `location = ${quote(`${options.to.host}${mirrored.base === '' ? '' : `/${mirrored.base}`}`)}`,
      ...(options.plainHttp ? ['insecure = true'] : []),
      'pull-from-mirror = "digest-only"',
      '',
    ].join('\n'),
  )
  return [{name: 'etc/containers/registries.conf.d/50-srcip.conf', content: entries.join('\n')}]
}

/** OpenShift: digests only; the source is never contacted unless fallback is wanted. */
function idms(hosts: readonly MirroredHost[], options: NodeConfigOptions, stringify: Stringify): ConfigFile[] {
  const document = {
    apiVersion: 'config.openshift.io/v1',
    kind: 'ImageDigestMirrorSet',
    metadata: {name: 'srcip-mirror'},
    spec: {
      imageDigestMirrors: hosts.map((mirrored) => ({
        source: mirrored.host,
        mirrors: [`${options.to.host}${mirrored.base === '' ? '' : `/${mirrored.base}`}`],
        mirrorSourcePolicy: options.fallback ? 'AllowContactingSource' : 'NeverContactSource',
      })),
    },
  }
  return [{name: 'openshift/image-digest-mirror-set.yaml', content: stringify(document)}]
}

/** Configuration of one kind of node that makes it pull a plan's images from the mirror. */
export async function nodeConfig(
  plan: MirrorPlan,
  runtime: Runtime,
  options: NodeConfigOptions,
): Promise<ConfigFile[]> {
  const {stringify: yaml} = await import('../yaml-library.ts')
  const stringify: Stringify = (value) => yaml(value, {lineWidth: 0})
  const hosts = mirroredHosts(plan, options)
  switch (runtime) {
    case 'containerd':
      return containerd(hosts, options)
    case 'k3s':
    case 'rke2':
      return k3s(hosts, options, stringify, runtime)
    case 'talos':
      return talos(hosts, options, stringify)
    case 'cri-o':
      return crio(hosts, options)
    case 'idms':
      return idms(hosts, options, stringify)
  }
}

/** What has to be known beside the files. */
export function nodeConfigNotes(plan: MirrorPlan, runtime: Runtime, options: NodeConfigOptions): string[] {
  const tagOnly = plan.items.filter((item) => item.role === 'image' && item.tag !== undefined)
  const notes: Readonly<Record<Runtime, readonly string[]>> = {
    containerd: [
      'config_path = "/etc/containerd/certs.d" must be set in config.toml, under plugins."io.containerd.grpc.v1.cri".registry (version 2) or plugins."io.containerd.cri.v1.images".registry (version 3)',
    ],
    k3s: ['restart k3s on every node for registries.yaml to count'],
    rke2: ['restart rke2 on every node for registries.yaml to count'],
    talos: ['talosctl patch machineconfig takes either file; the login part needs a reboot'],
    'cri-o': [
      'systemctl reload crio',
      ...(options.caPath === undefined
        ? []
        : [`the authority belongs into /etc/containers/certs.d/${options.to.host}/ca.crt`]),
    ],
    idms: [
      'the Machine Config Operator restarts nodes one after another',
      'the authority belongs into image.config.openshift.io/cluster, the login into the global pull secret',
    ],
  }
  const digestOnly = runtime === 'cri-o' || runtime === 'idms'
  return [
    ...notes[runtime],
    ...(digestOnly && tagOnly.length > 0
      ? ['only pulls by digest go to the mirror: pin the images first (mirror values)']
      : []),
    ...(options.login ? ['imagePullSecrets are not used for mirrors: the login has to lie on the nodes'] : []),
    ...(options.fallback ? ['a hole in the mirror stays unseen while nodes reach the source'] : []),
  ]
}

/** The snippet that fits a node, from what it says about itself. */
export function runtimeOf(node: {
  readonly containerRuntimeVersion?: string
  readonly osImage?: string
  readonly kubeletVersion?: string
}): Runtime | undefined {
  const {containerRuntimeVersion = '', osImage = '', kubeletVersion = ''} = node
  if (/talos/i.test(osImage)) return 'talos'
  if (/\+k3s/.test(kubeletVersion)) return 'k3s'
  if (/\+rke2/.test(kubeletVersion)) return 'rke2'
  if (/red hat enterprise linux coreos|openshift/i.test(osImage)) return 'idms'
  if (containerRuntimeVersion.startsWith('cri-o://')) return 'cri-o'
  return containerRuntimeVersion.startsWith('containerd://') ? 'containerd' : undefined
}
