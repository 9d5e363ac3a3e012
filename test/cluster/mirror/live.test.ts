import {writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {createKubeClient, loadKubeconfig, type KubeClient} from '../../../src/kube/index.ts'
import {resources} from '../../../src/kube/resources.ts'
import type {Resource} from '../../../src/kube/types.ts'
import {startApiServer, type ApiServer} from '../bed/index.ts'
import {mirror} from './command.ts'
import {image, multiArch, push} from './images.ts'
import {layoutRegistry, type LayoutRegistry} from './layout-registry.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

const secrets: Resource = {group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true}

await describeWith('with a live API server', ['registry-3', 'kube-apiserver', 'etcd', 'openssl'], (parts) => {
  const registries = new Registries()
  const app = multiArch('live')
  const tool = image('live tool')
  let source: TestRegistry
  let target: LayoutRegistry
  let api: ApiServer
  let client: KubeClient
  let lock: string
  const env = () => ({KUBECONFIG: api.kubeconfig})

  beforeAll(async () => {
    ;[source, api, target] = await Promise.all([
      registries.start(parts['registry-3']),
      startApiServer(),
      layoutRegistry({accounts: {site: 'puller:secret-of-the-cluster'}}),
    ])
    client = createKubeClient(await loadKubeconfig({kubeconfig: api.kubeconfig}, {}), {})
    await push(source.host, 'acme/app', app, ['1.0'])
    await push(source.host, 'acme/tool', tool, ['2.0'])
    lock = join(registries.path, 'live.lock.yaml')
    await mirror(['plan', `${source.host}/acme/app:1.0`, '--output-file', lock], [source.host])
    const login = join(registries.path, 'login.json')
    writeFileSync(
      login,
      JSON.stringify({auths: {[target.host]: {auth: Buffer.from('puller:secret-of-the-cluster').toString('base64')}}}),
    )
    expect(
      await mirror(
        ['copy', '--plan-file', lock, '--to', `${target.host}/site`, '--authfile', login],
        [source.host, target.host],
      ),
    ).toMatchObject({exitCode: 0})
    for (const [name, runtime, os] of [
      ['one', 'containerd://2.1.0', 'Debian'],
      ['two', 'containerd://2.1.0', 'Debian'],
      ['three', 'cri-o://1.36.0', 'Fedora'],
    ])
      await node(String(name), String(runtime), String(os))
    for (const [name, old] of [
      ['login', false],
      ['old-login', true],
    ] as const)
      await pullSecret(name, old)
  })
  afterAll(async () => {
    client?.close()
    await target?.close()
    await api?.stop()
    registries.stop()
  })

  async function node(name: string, containerRuntimeVersion: string, osImage: string): Promise<void> {
    await client.create(resources.nodes, {apiVersion: 'v1', kind: 'Node', metadata: {name}})
    const nodeInfo = {
      containerRuntimeVersion,
      osImage,
      kubeletVersion: 'v1.36.0',
      architecture: 'amd64',
      operatingSystem: 'linux',
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: '',
      kubeProxyVersion: '',
    }
    await client.mergePatch(
      resources.nodes,
      {name},
      {status: {nodeInfo, conditions: [{type: 'Ready', status: 'True'}]}},
      {subresource: 'status'},
    )
  }

  async function pullSecret(name: string, old: boolean): Promise<void> {
    const auths = {[target.host]: {auth: Buffer.from('puller:secret-of-the-cluster').toString('base64')}}
    const [key, value, type] = old
      ? ['.dockercfg', auths, 'kubernetes.io/dockercfg']
      : ['.dockerconfigjson', {auths}, 'kubernetes.io/dockerconfigjson']
    await client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {name, namespace: 'default'},
      type,
      data: {[String(key)]: Buffer.from(JSON.stringify(value)).toString('base64')},
    })
  }

  /** The kubelet's part: containers of check Pods get their image, or do not. */
  async function kubelet(
    failing: string | undefined,
    run: Promise<unknown>,
  ): Promise<{nodes: string[]; specs: Record<string, unknown>[]}> {
    const seen = {nodes: [] as string[], specs: [] as Record<string, unknown>[]}
    let over = false
    void run.finally(() => (over = true))
    const done = new Set<string>()
    while (!over) {
      const {items} = await client.list<{
        metadata: {name: string}
        spec: {nodeName: string; containers: {name: string; image: string}[]}
      }>(resources.pods, {namespace: 'default'})
      for (const {metadata, spec} of items) {
        if (!metadata.name.startsWith('srcip-mirror-check-') || done.has(metadata.name)) continue
        done.add(metadata.name)
        seen.nodes.push(spec.nodeName)
        seen.specs.push(spec)
        const containerStatuses = spec.containers.map(({name, image: from}) => ({
          name,
          image: from,
          imageID: spec.nodeName === failing ? '' : from,
          ready: false,
          restartCount: 0,
          state: {
            waiting:
              spec.nodeName === failing
                ? {reason: 'ErrImagePull', message: 'no such host'}
                : {reason: 'CreateContainerError'},
          },
        }))
        await client
          .mergePatch(
            resources.pods,
            {namespace: 'default', name: metadata.name},
            {status: {containerStatuses}},
            {subresource: 'status'},
          )
          .catch(() => {})
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    return seen
  }

  test('trap 39: verify reads with the login of the cluster, in both forms of pull secrets, and shows nothing of it', async () => {
    const without = await mirror(['verify', '--plan-file', lock, '--to', `${target.host}/site`], [target.host])
    expect(without).toMatchObject({exitCode: 31})
    for (const name of ['login', 'old-login']) {
      const result = await mirror(
        ['verify', '--plan-file', lock, '--to', `${target.host}/site`, '--pull-secret', `default/${name}`],
        [target.host],
        env(),
      )
      expect(result).toMatchObject({exitCode: 0})
      expect(result.stdout + result.stderr).not.toContain('secret-of-the-cluster')
    }
    const absent = await mirror(
      ['verify', '--plan-file', lock, '--to', `${target.host}/site`, '--pull-secret', 'default/absent'],
      [target.host],
      env(),
    )
    expect(absent.exitCode).not.toBe(0)
    expect(absent.stderr).toContain('absent')
  })

  describe('--in-cluster', () => {
    const verify = () =>
      mirror(
        [
          'verify',
          '--plan-file',
          lock,
          '--to',
          `${target.host}/site`,
          '--pull-secret',
          'default/login',
          '--in-cluster',
          '-o',
          'json',
        ],
        [target.host],
        env(),
      )

    test('one short-lived Pod on one node of each kind, by digest, pull policy Always, gone afterwards', async () => {
      const run = verify()
      const {nodes, specs} = await kubelet(undefined, run)
      const result = await run
      expect(JSON.parse(result.stdout)).toMatchObject({exitCode: 0, inCluster: {status: 'ok'}})
      expect(nodes.sort()).toEqual(['one', 'three'])
      for (const spec of specs)
        expect(spec).toMatchObject({
          imagePullSecrets: [{name: 'login'}],
          containers: [{image: `${target.host}/site/acme/app@${app.digest}`, imagePullPolicy: 'Always'}],
        })
      expect((await client.list(resources.pods, {namespace: 'default'})).items).toEqual([])
    })

    test('a node that cannot pull is named with its reason, exit 22, and its Pod is gone as well', async () => {
      const run = verify()
      await kubelet('three', run)
      const result = await run
      expect(JSON.parse(result.stdout)).toMatchObject({
        exitCode: 22,
        inCluster: {
          status: 'failed',
          nodes: expect.arrayContaining([
            expect.objectContaining({
              node: 'three',
              runtime: 'cri-o://1.36.0',
              status: 'failed',
              reason: 'ErrImagePull: no such host',
            }),
          ]),
        },
      })
      expect((await client.list(resources.pods, {namespace: 'default'})).items).toEqual([])
    })
  })

  test('plan --from-cluster reads the images of Pods, init containers included; node-config --runtime auto asks the nodes', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {name: 'app', namespace: 'default'},
      spec: {
        initContainers: [{name: 'init', image: `${source.host}/acme/tool:2.0`}],
        containers: [{name: 'app', image: `${source.host}/acme/app:1.0@${app.digest}`}],
      },
    }
    await client.create(resources.pods, pod)
    const planned = await mirror(['plan', '--from-cluster', '-o', 'json'], [source.host], env())
    const {items} = JSON.parse(planned.stdout) as {items: {source: string; digest: string; foundIn: string[]}[]}
    expect(items.map(({source: from, digest, foundIn}) => [from, digest, foundIn])).toEqual([
      [`${source.host}/acme/app`, app.digest, ['pod/default/app']],
      [`${source.host}/acme/tool`, tool.digest, ['pod/default/app']],
    ])
    const config = await mirror(
      ['node-config', '--plan-file', lock, '--to', 'mirror.example.org', '-o', 'name'],
      [],
      env(),
    )
    expect(config.stdout.split('\n').filter(Boolean)).toEqual([
      `etc/containerd/certs.d/${source.host.replace(/:(\d+)/, '_$1_')}/hosts.toml`,
      'etc/containers/registries.conf.d/50-srcip.conf',
    ])
  })

  test('trap 40: a node with dockerd is named: it mirrors Docker Hub only', async () => {
    await node('with-dockerd', 'docker://27.3.1', 'Debian GNU/Linux 12')
    const config = await mirror(['node-config', '--plan-file', lock, '--to', 'mirror.example.org'], [], env())
    await client.delete(resources.nodes, {name: 'with-dockerd'})
    expect(config).toMatchObject({
      exitCode: 32,
      stderr: expect.stringContaining('node/with-dockerd runs docker://27.3.1'),
    })
    expect(config.stderr).toContain('dockerd mirrors Docker Hub only')
    expect(config.stderr).toContain('mirror values')
  })
})
