import {execFile} from 'node:child_process'
import {existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test, vi} from 'vitest'
import {run} from './command.ts'
import {chart, digestAt, image, missingAt, multiArch, push, referrer, sha256, type Document} from './images.ts'
import {isolated} from './isolated.ts'
import {describeWith} from './parts.ts'
import {freePort, Registries, type TestRegistry} from './registries.ts'

const script = fileURLToPath(new URL('../../../docs/runbooks/air-gapped.sh', import.meta.url))
const entry = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))

await describeWith(
  'the air-gapped runbook',
  ['registry-2.8', 'registry-3', 'registry-referrers', 'namespaces', 'skopeo'],
  (parts) => {
    const registries = new Registries()
    const app = multiArch('runbook', {layerSize: 400_000})
    const signature = referrer(app, 'application/vnd.dev.sigstore.bundle.v0.3+json', '{"runbook":1}')
    let pack: Document
    let source: TestRegistry
    let site: TestRegistry
    let disk: string

    beforeAll(async () => {
      ;[source, site] = await Promise.all([
        registries.startReferrers(parts['registry-referrers']),
        registries.start(parts['registry-3']),
      ])
      pack = chart('app', '1.2.0', {
        'Chart.yaml': 'name: app\nversion: 1.2.0\nappVersion: "1.2.0"\n',
        'values.yaml': `image: {repository: ${source.host}/acme/app, tag: ""}\n`,
      })
      await push(source.host, 'acme/app', app, ['1.2.0'])
      await push(source.host, 'acme/app', signature)
      await push(source.host, 'charts/app', pack, ['1.2.0'])
      disk = join(registries.path, 'disk')
      mkdirSync(disk)
    })
    afterAll(() => registries.stop())

    function runbook(
      step: string,
      env: Record<string, string>,
      enter: (argv: readonly string[]) => string[] = (argv) => [...argv],
    ): Promise<{readonly code: number; readonly output: string}> {
      return new Promise((resolve) => {
        const [program = '', ...argv] = enter(['bash', script, step, disk])
        execFile(
          program,
          argv,
          {
            env: {
              PATH: process.env['PATH'] ?? '',
              HOME: '/nonexistent',
              SRCIP: `${process.execPath} ${entry}`,
              SPLIT: '500K',
              ...env,
            },
            timeout: 120_000,
          },
          (error, stdout, stderr) =>
            resolve({code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr}),
        )
      })
    }
    const connected = () => ({SOURCES: `oci://${source.host}/charts/app:1.2.0`, FLAGS: `--plain-http ${source.host}`})
    // The site reaches its own registry only: the source is not even named there.
    const siteOnly = () => ({
      TARGET: `${site.host}/mirror`,
      FLAGS: `--plain-http ${site.host}`,
      NODE_FLAGS: '--plain-http',
    })

    test('a chart by its name is enough: its images and their signatures come along, and all of it twice is as once', async () => {
      expect(await runbook('connected', connected())).toMatchObject({code: 0})
      expect(await runbook('connected', connected())).toMatchObject({code: 0})
      expect(existsSync(join(disk, 'mirror.tar.001'))).toBe(true)
      source.process.kill('SIGKILL')
      const first = await runbook('site', siteOnly())
      expect(first).toMatchObject({code: 0, output: expect.stringContaining('checked: every byte')})
      const second = await runbook('site', siteOnly())
      expect(second).toMatchObject({code: 0, output: expect.stringContaining('0 B moved')})
      expect(await digestAt(site.host, 'mirror/acme/app', '1.2.0')).toBe(app.digest)
      expect(await digestAt(site.host, 'mirror/charts/app', '1.2.0')).toBe(pack.digest)
      for (const content of [app, signature]) expect(await missingAt(site.host, 'mirror/acme/app', content)).toEqual([])
      expect(
        readFileSync(
          join(disk, `node-config/etc/containerd/certs.d/${source.host.replace(/:(\d+)/, '_$1_')}/hosts.toml`),
          'utf8',
        ),
      ).toContain(`http://${site.host}/v2/mirror`)
    })

    test('with the network really cut: nothing but the registry of the site is there, and import and verify need no more', async () => {
      // A machine of its own for the site: loopback alone, no uplink, its registry inside.
      const machine = await isolated()
      registries.guard(machine.holder)
      const port = await freePort()
      const host = `127.0.0.1:${port}`
      const home = join(registries.path, 'cut-off')
      mkdirSync(join(home, 'storage'), {recursive: true})
      writeFileSync(
        join(home, 'config.yml'),
        [
          'version: 0.1',
          'log: {level: info, accesslog: {disabled: false}}',
          `storage: {filesystem: {rootdirectory: ${JSON.stringify(join(home, 'storage'))}}}`,
          `http: {addr: "${host}", secret: test}`,
        ].join('\n'),
      )
      const inside = machine.start([parts['registry-3'], 'serve', join(home, 'config.yml')], {
        PATH: process.env['PATH'],
        HOME: home,
        OTEL_TRACES_EXPORTER: 'none',
      })
      registries.guard(inside)
      const reaches = (place: string) => {
        const [program = '', ...argv] = machine.enter(['bash', '-c', `exec 3<>/dev/tcp/${place.replace(':', '/')}`])
        return run(program, argv)
      }
      await vi.waitFor(async () => expect(await reaches(host)).toMatchObject({code: 0}), 10_000)
      const [program = '', ...links] = machine.enter(['ip', '-o', 'link'])
      expect((await run(program, links)).stdout.trim().split('\n')).toEqual([expect.stringContaining('lo:')])
      // The other registries run, and are out of reach.
      await source.restart()
      expect(await digestAt(site.host, 'mirror/acme/app', '1.2.0')).toBe(app.digest)
      for (const place of [source.host, site.host]) expect((await reaches(place)).code).not.toBe(0)

      const cutOff = {
        TARGET: `${host}/mirror`,
        FLAGS: `--plain-http ${host}`,
        NODE_FLAGS: '--plain-http --dry-run=client',
      }
      expect(await runbook('site', cutOff, machine.enter)).toMatchObject({
        code: 0,
        output: expect.stringContaining('checked: every byte'),
      })
      expect(await runbook('site', cutOff, machine.enter)).toMatchObject({
        code: 0,
        output: expect.stringContaining('0 B moved'),
      })
      for (const [name, content] of [
        ['acme/app', app],
        ['charts/app', pack],
      ] as const) {
        const [tool = '', ...argv] = machine.enter([
          parts.skopeo,
          'inspect',
          '--raw',
          '--tls-verify=false',
          `docker://${host}/mirror/${name}:1.2.0`,
        ])
        expect(sha256(Buffer.from((await run(tool, argv)).stdout))).toBe(content.digest)
      }
      inside.kill('SIGKILL')
      machine.holder.kill('SIGKILL')
    })

    test('an update is small and needs the first archive only once', async () => {
      await source.restart()
      const next = image('runbook next', {shared: app.children[0]?.blobs.slice(1) ?? [], layers: 1, layerSize: 1000})
      await push(source.host, 'acme/app', next, ['1.2.1'])
      expect(
        await runbook('update', {SOURCES: `${source.host}/acme/app:1.2.1`, FLAGS: `--plain-http ${source.host}`}),
      ).toMatchObject({code: 0})
      expect(statSync(join(disk, 'update.tar')).size).toBeLessThan(50_000)
      expect(await runbook('site', siteOnly())).toMatchObject({code: 0})
      expect(await missingAt(site.host, 'mirror/acme/app', next)).toEqual([])
    })

    test('a part that was lost on the way stops it before anything is written', async () => {
      rmSync(join(disk, 'mirror.tar.001'))
      expect((await runbook('site', {...siteOnly(), TARGET: `${site.host}/other`})).code).not.toBe(0)
      expect(await digestAt(site.host, 'other/acme/app', '1.2.0')).toBeUndefined()
    })
  },
)
