import {expect, test} from 'vitest'
import type {MirrorPlan} from '../../../src/model/mirror.ts'
import {nodeConfig, nodeConfigNotes, runtimeOf} from '../../../src/registry/mirror/node-config.ts'
import {parseTarget} from '../../../src/registry/reference.ts'

const digest = `sha256:${'ab'.repeat(32)}`
const plan = (tag: string | undefined): MirrorPlan => ({
  apiVersion: 'srcip.dev/v1alpha1',
  kind: 'MirrorPlan',
  exitCode: 0,
  changed: false,
  warnings: [],
  items: [
    {
      role: 'image',
      source: 'ghcr.io/a/b',
      ...(tag === undefined ? {} : {tag}),
      digest,
      mediaType: 'x',
      size: 1,
      platforms: [],
      extras: [],
      foundIn: [],
      notes: [],
    },
  ],
})
const options = {
  to: parseTarget('mirror.example.org/site'),
  layout: 'host-prefix' as const,
  plainHttp: false,
  login: false,
  fallback: false,
}

test.each(['idms', 'cri-o'] as const)(
  'trap 40: %s mirrors pulls by digest only, and says so while images have tags',
  async (runtime) => {
    const warning = expect.stringContaining('pin the images first')
    expect(nodeConfigNotes(plan('1.0'), runtime, options)).toContainEqual(warning)
    expect(nodeConfigNotes(plan(undefined), runtime, options)).not.toContainEqual(warning)
    const [file] = await nodeConfig(plan('1.0'), runtime, options)
    expect(file?.content).toMatch(runtime === 'idms' ? /NeverContactSource/ : /pull-from-mirror = "digest-only"/)
  },
)

test.each([
  [{containerRuntimeVersion: 'docker://27.3.1', osImage: 'Debian GNU/Linux 12'}, undefined],
  [{containerRuntimeVersion: 'containerd://2.1.0', osImage: 'Talos (v1.12.0)'}, 'talos'],
  [{containerRuntimeVersion: 'containerd://2.1.0', kubeletVersion: 'v1.34.1+k3s1'}, 'k3s'],
  [{containerRuntimeVersion: 'containerd://2.1.0', kubeletVersion: 'v1.34.1+rke2r1'}, 'rke2'],
  [{containerRuntimeVersion: 'cri-o://1.34.0', osImage: 'Red Hat Enterprise Linux CoreOS 9.6'}, 'idms'],
  [{containerRuntimeVersion: 'cri-o://1.34.0', osImage: 'Fedora'}, 'cri-o'],
  [{containerRuntimeVersion: 'containerd://1.7.0', osImage: 'Debian GNU/Linux 12'}, 'containerd'],
])('trap 40: a node that says %j takes the file of %s: dockerd takes none', (node, runtime) => {
  expect(runtimeOf(node)).toBe(runtime)
})
