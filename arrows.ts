/**
 * The rooms of the house and which rooms each may import (docs/architecture.md). Lint is built from this table, and
 * test/unit/house/arrows.test.ts shows that a forbidden import really fails.
 */
export const rooms: Readonly<
  Record<
    string,
    {
      readonly may: readonly string[]
      readonly pure?: true
      readonly packages?: readonly string[]
      readonly builtins?: readonly string[]
    }
  >
> = {
  // node:crypto and node:url only compute here: the reload hash, and the A-label form of a name.
  'plugins/coredns': {may: [], pure: true, builtins: ['crypto']},
  'src/model': {may: [], pure: true, packages: ['typebox']},
  'src/platforms': {may: ['src/model'], pure: true, builtins: ['path']},
  'src/hosts': {may: ['src/model', 'src/platforms'], pure: true, builtins: ['url']},
  'src/diagnosis': {may: ['src/model', 'src/platforms', 'src/hosts', 'plugins/coredns'], pure: true},
  'src/kube': {may: ['src/model'], packages: ['@kubernetes/client-node', 'ws', 'yaml']},
  'src/registry': {may: ['src/model'], packages: ['typebox', 'yaml']},
  'src/proxy': {may: ['src/model']},
  'src/whoami': {may: ['src/model', 'src/proxy']},
  'src/verify': {may: ['src/model']},
  'src/lb': {may: ['src/model'], pure: true},
  'src/present': {may: ['src/model'], packages: ['diff', 'jq-wasm', 'yaml']},
  'src/cluster-dns': {may: ['src/model', 'src/platforms', 'src/kube', 'plugins/coredns'], packages: ['dns-packet']},
  'src/controller': {may: ['src/model', 'src/hosts', 'src/kube', 'src/cluster-dns']},
  'src/workflows': {may: ['src/model', 'src/diagnosis', 'src/hosts', 'src/platforms', 'plugins/coredns']},
  'src/cli': {
    may: [
      'src/model',
      'src/platforms',
      'src/hosts',
      'src/diagnosis',
      'src/kube',
      'src/registry',
      'src/proxy',
      'src/whoami',
      'src/verify',
      'src/lb',
      'src/present',
      'src/cluster-dns',
      'src/controller',
      'src/workflows',
      'plugins/coredns',
    ],
    packages: ['@oclif/core'],
  },
  'src/commands': {
    may: [
      'src/model',
      'src/hosts',
      'src/diagnosis',
      'src/registry',
      'src/proxy',
      'src/whoami',
      'src/verify',
      'src/lb',
      'src/present',
      'src/cluster-dns',
      'src/controller',
      'src/workflows',
      'src/cli',
      'plugins/coredns',
    ],
    packages: ['@oclif/core'],
  },
}

/** Every package that some room names; a room that does not list one may not import it. */
export const packages = [
  '@kubernetes/client-node',
  '@oclif/core',
  'diff',
  'dns-packet',
  'jq-wasm',
  'typebox',
  'ws',
  'yaml',
] as const
