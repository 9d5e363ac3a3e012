import {spawn} from 'node:child_process'
import {mkdirSync, readFileSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {mirror, run} from './command.ts'
import {document, gzipLayer, multiArch, pointer, push, sha256, types, blob, type Document} from './images.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

/** An image whose layers are real, so that containerd can take it. */
function realImage(seed: string): Document {
  const layer = gzipLayer(seed)
  const config = blob(
    JSON.stringify({architecture: 'amd64', os: 'linux', config: {}, rootfs: {type: 'layers', diff_ids: []}}),
    types.config,
  )
  return document(
    types.manifest,
    {schemaVersion: 2, mediaType: types.manifest, config: pointer(config), layers: [pointer(layer)]},
    [config, layer],
  )
}

await describeWith(
  'nodes pull through the printed configuration',
  ['registry-3', 'registry-2.8', 'skopeo', 'containerd', 'ctr'],
  (parts) => {
    const registries = new Registries()
    const app = multiArch('nodes app')
    const plain = realImage('nodes plain')
    let source: TestRegistry
    let target: TestRegistry
    let lock: string
    let socket: string
    const at = (name: string) => join(registries.path, name)
    // The plan names a registry that does not exist: what is pulled can only come from the mirror.
    const name = 'registry.example.org'

    beforeAll(async () => {
      ;[source, target] = await Promise.all([
        registries.start(parts['registry-2.8']),
        registries.start(parts['registry-3']),
      ])
      await push(source.host, 'acme/app', app, ['1.0'])
      await push(source.host, 'acme/plain', plain, ['1.0'])
      lock = at('nodes.lock.yaml')
      const map = ['--source-map', `${name}=${source.host}`]
      expect(
        await mirror(
          ['plan', `${name}/acme/app:1.0`, `${name}/acme/plain:1.0`, ...map, '--output-file', lock],
          [source.host],
        ),
      ).toMatchObject({exitCode: 0})
      for (const layout of ['keep', 'host-prefix']) {
        expect(
          await mirror(
            ['copy', '--plan-file', lock, ...map, '--to', `${target.host}/site`, '--layout', layout],
            [source.host, target.host],
          ),
        ).toMatchObject({exitCode: 0})
      }
      socket = await startContainerd(parts.containerd)
    })
    afterAll(() => registries.stop())

    /** containerd without CRI and without snapshotters that want a kernel, all below the test's own folder. */
    async function startContainerd(binary: string): Promise<string> {
      const home = at('containerd')
      mkdirSync(home, {recursive: true})
      const address = join(home, 'sock')
      const disabled = [
        'io.containerd.grpc.v1.cri',
        'io.containerd.snapshotter.v1.aufs',
        'io.containerd.snapshotter.v1.btrfs',
        'io.containerd.snapshotter.v1.devmapper',
        'io.containerd.snapshotter.v1.zfs',
      ]
      writeFileSync(
        join(home, 'config.toml'),
        `version = 2\nroot = "${join(home, 'root')}"\nstate = "${join(home, 'state')}"\ndisabled_plugins = ${JSON.stringify(disabled)}\n[grpc]\n  address = "${address}"\n`,
      )
      const child = spawn(binary, ['--config', join(home, 'config.toml')], {stdio: 'ignore'})
      registries.guard(child)
      for (let tries = 0; tries < 200; tries++) {
        if ((await run(parts.ctr, ['-a', address, 'version'])).code === 0) return address
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
      throw new Error('containerd did not start')
    }

    test.each(['keep', 'host-prefix'])(
      'containerd through hosts.toml, layout %s: by digest, and by tag and digest',
      async (layout) => {
        const folder = at(`node-${layout}`)
        const written = await mirror([
          'node-config',
          '--plan-file',
          lock,
          '--to',
          `${target.host}/site`,
          '--layout',
          layout,
          '--runtime',
          'containerd',
          '--output-dir',
          folder,
          '--plain-http',
        ])
        expect(written).toMatchObject({exitCode: 0, stderr: expect.stringContaining('config_path')})
        const before = target.requests(/ns=registry\.example\.org/)
        for (const [image, content] of [
          ['acme/app', app],
          ['acme/plain', plain],
        ] as const) {
          const pulled = await run(parts.ctr, [
            '-a',
            socket,
            '-n',
            layout,
            'content',
            'fetch',
            '--all-platforms',
            '--hosts-dir',
            join(folder, 'etc/containerd/certs.d'),
            `${name}/${image}:1.0@${content.digest}`,
          ])
          expect(pulled).toMatchObject({code: 0})
          const stored = await run(parts.ctr, ['-a', socket, '-n', layout, 'content', 'get', content.digest])
          expect(sha256(Buffer.from(stored.stdout))).toBe(content.digest)
        }
        expect(target.requests(/ns=registry\.example\.org/)).toBeGreaterThan(before)
      },
    )

    test.each(['keep', 'host-prefix'])('skopeo through registries.conf, layout %s: by digest', async (layout) => {
      const folder = at(`crio-${layout}`)
      await mirror([
        'node-config',
        '--plan-file',
        lock,
        '--to',
        `${target.host}/site`,
        '--layout',
        layout,
        '--runtime',
        'cri-o',
        '--output-dir',
        folder,
        '--plain-http',
      ])
      const conf = join(folder, 'etc/containers/registries.conf.d/50-srcip.conf')
      const raw = await run(parts.skopeo, [
        '--registries-conf',
        conf,
        'inspect',
        '--raw',
        `docker://${name}/acme/app@${app.digest}`,
      ])
      expect(raw).toMatchObject({code: 0})
      expect(sha256(Buffer.from(raw.stdout))).toBe(app.digest)
      const byTag = await run(parts.skopeo, [
        '--registries-conf',
        conf,
        'inspect',
        '--raw',
        `docker://${name}/acme/app:1.0`,
      ])
      expect(byTag).toMatchObject({code: 1, stderr: expect.stringContaining('blocked')})
      // The same file serves our own reading as well.
      const planned = await mirror(
        ['plan', `${name}/acme/app@${app.digest}`, '--registries-conf', conf, '-o', 'name'],
        [target.host],
      )
      expect(planned).toMatchObject({exitCode: 0, stdout: `${name}/acme/app@${app.digest}\n`})
    })

    test('trap 39: verify acts as containerd does: ?ns= names the source', async () => {
      const before = target.requests(/manifests\/sha256:[0-9a-f]+\?ns=registry\.example\.org/)
      expect(
        await mirror(['verify', '--plan-file', lock, '--to', `${target.host}/site`, '--ns'], [target.host]),
      ).toMatchObject({exitCode: 0})
      expect(target.requests(/manifests\/sha256:[0-9a-f]+\?ns=registry\.example\.org/)).toBeGreaterThan(before)
    })

    test('every other runtime gets its file, and a diff comes before a change', async () => {
      const all = ['k3s', 'rke2', 'talos', 'idms'].flatMap((runtime) => ['--runtime', runtime])
      const folder = at('others')
      await mirror([
        'node-config',
        '--plan-file',
        lock,
        '--to',
        `${target.host}/site`,
        '--layout',
        'host-prefix',
        ...all,
        '--output-dir',
        folder,
      ])
      expect(readFileSync(join(folder, 'etc/rancher/k3s/registries.yaml'), 'utf8')).toContain(`^(.*)$: site/${name}/$1`)
      expect(readFileSync(join(folder, 'talos/registry-mirrors.yaml'), 'utf8')).toContain(
        `https://${target.host}/v2/site/${name}`,
      )
      expect(readFileSync(join(folder, 'openshift/image-digest-mirror-set.yaml'), 'utf8')).toContain(
        'NeverContactSource',
      )
      const diff = await mirror([
        'node-config',
        '--plan-file',
        lock,
        '--to',
        'other.example.org/site',
        '--layout',
        'host-prefix',
        '--runtime',
        'k3s',
        '--output-dir',
        folder,
        '-o',
        'diff',
        '--dry-run=client',
      ])
      expect(diff.stdout).toContain(`-      - https://${target.host}`)
      expect(diff.stdout).toContain('+      - https://other.example.org')
      expect(readFileSync(join(folder, 'etc/rancher/k3s/registries.yaml'), 'utf8')).toContain(target.host)
    })

    test('the list for skopeo is a script that works', async () => {
      const script = await mirror(['plan', `${source.host}/acme/app:1.0`, '-o', 'skopeo'], [source.host])
      writeFileSync(
        at('skopeo.sh'),
        script.stdout.replaceAll(
          'skopeo copy',
          'skopeo --insecure-policy copy --src-tls-verify=false --dest-tls-verify=false',
        ),
      )
      expect(
        await run('sh', [at('skopeo.sh')], {TARGET: `${target.host}/by-skopeo`, HOME: registries.path}),
      ).toMatchObject({code: 0})
      expect(
        await mirror(
          ['verify', `${source.host}/acme/app:1.0@${app.digest}`, '--to', `${target.host}/by-skopeo`],
          [target.host],
        ),
      ).toMatchObject({exitCode: 0})
    })
  },
)
