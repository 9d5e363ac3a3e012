import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {mirror, run} from './command.ts'
import {chart, image, multiArch, push, referrer} from './images.ts'
import {isolated, type Isolated} from './isolated.ts'
import {describeWith} from './parts.ts'
import {Registries, type TestRegistry} from './registries.ts'

const entry = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))

await describeWith('previews', ['registry-3', 'registry-2.8', 'namespaces'], (parts) => {
  const registries = new Registries()
  const at = (name: string) => join(registries.path, name)
  const app = multiArch('preview', {layerSize: 50_000})
  let source: TestRegistry
  let target: TestRegistry
  let machine: Isolated
  /** What can be copied or imported, as arguments. */
  let ways: string[][]

  beforeAll(async () => {
    ;[source, target] = await Promise.all([
      registries.start(parts['registry-2.8']),
      registries.start(parts['registry-3']),
    ])
    const pack = chart('app', '1.2.0', {
      'Chart.yaml': 'name: app\nversion: 1.2.0\nappVersion: "1.0"\n',
      'values.yaml': `image: {repository: ${source.host}/acme/app, tag: ""}\n`,
    })
    await push(source.host, 'acme/app', app, ['1.0'])
    await push(source.host, 'acme/app', referrer(app, 'application/vnd.example.sbom', '{}'))
    await push(source.host, 'acme/app', image('preview signature'), [`${app.digest.replace(':', '-')}.sig`])
    await push(source.host, 'charts/app', pack, ['1.2.0'])
    const reference = `oci://${source.host}/charts/app:1.2.0`
    await mirror(['plan', reference, '--output-file', at('lock.yaml')], [source.host])
    await mirror(['export', at('app.tar'), '--plan-file', at('lock.yaml')], [source.host])
    machine = await isolated()
    registries.guard(machine.holder)
    ways = [
      ['copy', `${source.host}/acme/app:1.0`],
      ['copy', reference],
      ['copy', `oci://${source.host}/charts/app`],
      ['copy', '--plan-file', at('lock.yaml')],
      ['import', at('app.tar')],
    ]
  })
  afterAll(() => registries.stop())

  test('--dry-run=server asks the target by HEAD alone, however little of it is there, and writes nothing', async () => {
    const expected = async (status: string) => {
      for (const way of ways) {
        const preview = await mirror(
          [...way, '--to', `${target.host}/site`, '--dry-run=server', '-o', 'json'],
          [source.host, target.host],
        )
        expect(preview.exitCode, preview.stderr).toBe(0)
        const {changed, items} = JSON.parse(preview.stdout) as {changed: boolean; items: {status: string}[]}
        expect({changed, statuses: new Set(items.map((item) => item.status))}, way.join(' ')).toEqual({
          changed: false,
          statuses: new Set([status]),
        })
      }
    }
    const asked = () => [
      ...new Set(
        [...readFileSync(target.log, 'utf8').matchAll(/"([A-Z]+) \/v2\/\S+ HTTP/g)].map(([, method]) => method),
      ),
    ]
    await expected('planned')
    expect(asked()).toEqual(['HEAD'])
    const done = await mirror(
      ['copy', '--plan-file', at('lock.yaml'), '--to', `${target.host}/site`],
      [source.host, target.host],
    )
    expect(done.exitCode).toBe(0)
    const before = target.requests(/"(?:PUT|POST|PATCH|DELETE) \/v2/)
    await expected('unchanged')
    expect(target.requests(/"(?:PUT|POST|PATCH|DELETE) \/v2/)).toBe(before)
  })

  test('--dry-run=client contacts nothing: it says the same on a machine without any network', async () => {
    const requests = () => source.requests() + target.requests()
    for (const way of ways) {
      const before = requests()
      const argv = ['mirror', ...way, '--to', `${target.host}/site`, '--dry-run=client', '-o', 'json']
      const plain = ['--plain-http', source.host, '--plain-http', target.host]
      const here = await run(process.execPath, [entry, ...argv, ...plain], {HOME: '/nonexistent'})
      const [program = '', ...rest] = machine.enter([process.execPath, entry, ...argv, ...plain])
      const there = await run(program, rest, {HOME: '/nonexistent'})
      expect(here.code, here.stderr).toBe(0)
      expect(there, way.join(' ')).toEqual(here)
      expect(requests(), way.join(' ')).toBe(before)
    }
  })
})
