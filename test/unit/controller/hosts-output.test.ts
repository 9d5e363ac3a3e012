import {mkdtempSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import fc from 'fast-check'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {HostsOutput} from '../../../src/controller/hosts-output.ts'
import {readHostsText, writeHostsText} from '../../../src/controller/hosts-text.ts'
import type {Published} from '../../../src/controller/names-guard.ts'
import type {KubeClient} from '../../../src/kube/index.ts'

const services: Record<string, unknown> = {
  'srcip/p': {metadata: {name: 'p'}, spec: {clusterIPs: ['10.96.7.7', 'fd00::7']}},
  'srcip/headless': {metadata: {name: 'headless'}, spec: {clusterIP: 'None'}},
  'srcip/elsewhere': {metadata: {name: 'elsewhere'}, spec: {type: 'ExternalName'}},
}
const client = {
  find: (_resource: unknown, key: {namespace: string; name: string}) =>
    Promise.resolve(services[`${key.namespace}/${key.name}`]),
} as unknown as Pick<KubeClient, 'find'>
const name = (host: string, target = 'srcip/p'): Published => ({name: host, kind: 'exact', target})
const signal = new AbortController().signal

describe('the text of a hosts file', () => {
  test('whatever stands around our block stays byte for byte; what was written is read back; nothing wanted, nothing left', () => {
    const line = fc.oneof(
      fc.constantFrom('127.0.0.1 localhost', '# comment', '', '\t', '::1 ip6-localhost\r'),
      fc.string({unit: 'binary', maxLength: 12}).filter((text) => !text.includes('\n') && !text.includes('===')),
    )
    const around = fc.array(line, {maxLength: 6}).map((lines) => lines.join('\n'))
    const hosts = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,6}\.org$/), {maxLength: 5})
    fc.assert(
      fc.property(around, hosts, hosts, (text, first, second) => {
        const entries = (list: string[]) => list.map((host) => ({...name(host), addresses: ['10.0.0.1', 'fd00::1']}))
        const once = writeHostsText(readHostsText(text), entries(first))
        expect(
          readHostsText(once)
            .published.map((entry) => entry.name)
            .sort(),
        ).toEqual([...first].sort())
        const twice = writeHostsText(readHostsText(once), entries(second))
        expect(
          readHostsText(twice)
            .published.map((entry) => entry.name)
            .sort(),
        ).toEqual([...second].sort())
        expect(writeHostsText(readHostsText(twice), entries(second))).toBe(twice)
        const gone = writeHostsText(readHostsText(twice), [])
        // A file that did not end in a newline gets one: our block needs a line of its own.
        expect([text, `${text}\n`]).toContain(gone)
      }),
    )
  })

  test.each([
    '# === BEGIN srcip (managed by kubectl srcip, do not edit) ===\n1.1.1.1 a # x/y\n',
    '# === END srcip ===\n# === BEGIN srcip (managed by kubectl srcip, do not edit) ===\n',
    '# === END srcip ===\n',
  ])('damaged markers are no block: %j', (text) => {
    expect(readHostsText(text).damage).toMatch(/marker lines are damaged/)
  })
})

describe('a hosts file', () => {
  let folder: string
  let path: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'srcip-hosts-'))
    path = join(folder, 'hosts')
  })
  afterEach(() => rmSync(folder, {recursive: true, force: true}))
  const planFor = async (names: Published[], wildcards = false) => {
    const view = await new HostsOutput(client, path, wildcards).read(
      ['srcip/p', 'srcip/headless', 'srcip/elsewhere'],
      signal,
    )
    return view.plan(names, [])
  }

  test('names get both addresses of their Service; the mode of the file stays; the proof is the file', async () => {
    writeFileSync(path, '127.0.0.1 localhost\n', {mode: 0o640})
    const plan = await planFor([
      name('b.org'),
      name('a.org'),
      name('c.org', 'srcip/headless'),
      name('d.org', 'srcip/none'),
    ])
    expect(plan.refused.map((entry) => `${entry.name} ${entry.code}`)).toEqual([
      'c.org TargetNoClusterIP',
      'd.org TargetNotFound',
    ])
    const written = await plan.write(signal)
    expect(readFileSync(path, 'utf8')).toBe(
      [
        '127.0.0.1 localhost',
        '# === BEGIN srcip (managed by kubectl srcip, do not edit) ===',
        '10.96.7.7 a.org # srcip/p',
        'fd00::7 a.org # srcip/p',
        '10.96.7.7 b.org # srcip/p',
        'fd00::7 b.org # srcip/p',
        '# === END srcip ===',
        '',
      ].join('\n'),
    )
    expect(statSync(path).mode & 0o777).toBe(0o640)
    expect((await written.prove(signal)).verdict).toBe('done')
    expect((await planFor([name('a.org'), name('b.org')])).changes).toBe(false)
    await (await planFor([])).write(signal)
    expect(readFileSync(path, 'utf8')).toBe('127.0.0.1 localhost\n')
  })

  test('a file that is not there is made; one that changed since it was read is not overwritten', async () => {
    const plan = await planFor([name('a.org')])
    writeFileSync(path, '192.0.2.1 foreign\n')
    await expect(plan.write(signal)).rejects.toMatchObject({code: 'Conflict'})
    rmSync(path)
    const written = await (await planFor([name('a.org')])).write(signal)
    writeFileSync(path, 'foreign')
    expect(await written.undo(signal)).toEqual({restored: false, reason: 'was changed since it was written'})
  })

  test('a wildcard is refused where wildcards are asked for, and passed over where not', async () => {
    const wild: Published = {name: '*.a.org', kind: 'wildcard-one-label', target: 'srcip/p'}
    expect((await planFor([wild], true)).refused.map((entry) => entry.code)).toEqual(['WildcardUnsupported'])
    expect((await planFor([wild])).refused).toEqual([])
  })

  test('damaged markers block it; a folder without rights says which file and what to do', async () => {
    writeFileSync(path, '# === END srcip ===\n')
    expect((await planFor([name('a.org')])).blocked?.code).toBe('MarkersDamaged')
    const output = new HostsOutput(client, join(folder, 'no', 'such', 'hosts'), false)
    const plan = (await output.read(['srcip/p'], signal)).plan([name('a.org')], [])
    await expect(plan.write(signal)).rejects.toMatchObject({
      code: 'Precondition',
      hints: ['name another file with --hosts-path'],
    })
  })
})
