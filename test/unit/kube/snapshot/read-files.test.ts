import {mkdir, mkdtemp, rm, symlink, truncate, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {Readable} from 'node:stream'
import {gzipSync} from 'node:zlib'
import fc from 'fast-check'
import {afterEach, beforeEach, describe, expect, test} from 'vitest'
import {stringify} from 'yaml'
import {readSnapshotFiles} from '../../../../src/kube/index.ts'
import {SrcipError} from '../../../../src/model/errors.ts'
import {indexSnapshot, type Snapshot} from '../../../../src/model/snapshot.ts'
import {propertySeed} from '../../../support/property-seed.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'srcip-read-'))
})
afterEach(() => rm(folder, {recursive: true, force: true}))

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, content)
  return path
}

const service = (name: string, fields: object = {}): Record<string, unknown> => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {name, namespace: 'demo'},
  spec: {type: 'LoadBalancer', ...fields},
})
const snapshot = (fields: object = {}): Record<string, unknown> => ({
  apiVersion: 'srcip.dev/v1alpha1',
  kind: 'Snapshot',
  format: 1,
  source: 'cluster',
  anonymised: false,
  cluster: {version: 'v1.36.0', uid: 'one'},
  readings: [{group: '', version: 'v1', resource: 'services', kind: 'Service', verb: 'list', state: 'complete'}],
  objects: [service('a')],
  exitCode: 0,
  changed: false,
  warnings: [],
  ...fields,
})
const names = (read: Snapshot): string[] =>
  read.objects.map(({kind, metadata}) => `${kind} ${metadata.namespace}/${metadata.name}`)
const refusal = async (...paths: string[]): Promise<{message: string; exitCode: number; hints: readonly string[]}> => {
  const error: unknown = await readSnapshotFiles(paths).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof SrcipError)) throw new Error('not refused', {cause: error})
  return {message: error.message.replaceAll(`${folder}/`, ''), exitCode: error.exitCode, hints: error.hints}
}

describe('forms', () => {
  test('a Snapshot comes back as it was, its readings too, as one from files', async () => {
    const read = await readSnapshotFiles([
      await file('s.json', JSON.stringify(snapshot({metadata: {createdAt: 'then'}}))),
    ])
    expect(read).toMatchObject({
      source: 'files',
      cluster: {version: 'v1.36.0', uid: 'one'},
      metadata: {createdAt: 'then'},
    })
    expect(names(read)).toEqual(['Service demo/a'])
    expect(read.warnings).toEqual([])
    const index = indexSnapshot(read)
    expect(index.state('Service', 'demo')).toBe('complete')
    expect(index.state('Ingress', 'demo')).toBe('unknown')
  })

  test('YAML with several documents, anchors, merge keys and comments', async () => {
    const text = `# first
--- # a comment
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Service
    metadata: &meta {name: a, namespace: demo}
    spec: &spec
      type: NodePort
  - apiVersion: v1
    kind: Service
    metadata: {<<: *meta, name: b}
    spec: *spec
---
---
# nothing here
`
    const read = await readSnapshotFiles([await file('m.yaml', text)])
    expect(read.objects.map(({metadata, spec}) => [metadata.name, spec])).toEqual([
      ['a', {type: 'NodePort'}],
      ['b', {type: 'NodePort'}],
    ])
    expect(read.objects[1]?.metadata.namespace).toBe('demo')
  })

  test.each([
    ['a List', {apiVersion: 'v1', kind: 'List', items: [service('a')]}],
    [
      'a typed list, whose items carry no kind',
      {apiVersion: 'v1', kind: 'ServiceList', items: [{metadata: {name: 'a', namespace: 'demo'}}]},
    ],
    [
      'a List in a List',
      {apiVersion: 'v1', kind: 'List', items: [{apiVersion: 'v1', kind: 'List', items: [service('a')]}]},
    ],
    ['a bare JSON array', [service('a')]],
  ])('%s', async (_, value) => {
    expect(names(await readSnapshotFiles([await file('l.json', JSON.stringify(value))]))).toEqual(['Service demo/a'])
    expect(names(await readSnapshotFiles([await file('l.yaml', stringify(value))]))).toEqual(['Service demo/a'])
  })

  test('JSON values one after another', async () => {
    const text = `${JSON.stringify(service('a'), null, 2)}\n${JSON.stringify(service('b{}"'))}`
    expect(names(await readSnapshotFiles([await file('j.json', text)]))).toEqual([
      'Service demo/a',
      'Service demo/b{}"',
    ])
  })

  test('flow YAML that begins like JSON', async () => {
    const text = '{apiVersion: v1, kind: Service, metadata: {name: a, namespace: demo}}'
    expect(names(await readSnapshotFiles([await file('f.yaml', text)]))).toEqual(['Service demo/a'])
  })

  test('stdin, folders in order, many files; hidden folders and other files are passed over', async () => {
    await mkdir(join(folder, 'd', '.git'), {recursive: true})
    await mkdir(join(folder, 'd', 'sub'))
    await file('d/b.yaml', stringify(service('b')))
    await file('d/a.yml', stringify(service('a')))
    await file('d/sub/c.json', JSON.stringify(service('c')))
    await file('d/.git/x.yaml', stringify(service('x')))
    await file('d/README.md', 'text')
    await file('d/values.yaml', 'replicaCount: 1\n')
    const stdin = Readable.from([Buffer.from(stringify(service('in')))])
    const read = await readSnapshotFiles([join(folder, 'd'), '-'], {stdin})
    expect(names(read)).toEqual(['a', 'b', 'c', 'in'].map((name) => `Service demo/${name}`))
    expect(read.warnings).toEqual([`${folder}/d/values.yaml holds no object of a kind that is used`])
  })

  test('where kubectl would put it: a namespaced object without a namespace is in default', async () => {
    const text = '{"apiVersion":"v1","kind":"Service","metadata":{"name":"a"}}'
    const node = '{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}'
    expect(names(await readSnapshotFiles([await file('x.json', text + node)]))).toEqual([
      'Node undefined/n',
      'Service default/a',
    ])
  })
})

describe('secrets in what is given', () => {
  test('Secrets are left out at once, and it is said', async () => {
    const secret = {apiVersion: 'v1', kind: 'Secret', metadata: {name: 's'}, data: {password: 'aHVudGVyMg=='}}
    const path = await file(
      'm.yaml',
      [service('a'), secret, {apiVersion: 'v1', kind: 'List', items: [secret]}]
        .map((one) => stringify(one))
        .join('---\n'),
    )
    const read = await readSnapshotFiles([path])
    expect(read.warnings).toEqual([`${path}: 2 Secrets were left out at once; nothing of them was kept`])
    expect(JSON.stringify(read)).not.toContain('aHVudGVyMg')
    const only = await readSnapshotFiles([await file('s.yaml', stringify(secret))])
    expect(only.objects).toEqual([])
    expect(only.warnings[0]).toContain('a Secret was left out')
  })

  test('an edited Snapshot is projected again', async () => {
    const bad = {
      ...service('a'),
      stringData: {x: 'hunter2'},
      metadata: {name: 'a', annotations: {'example.org/x': 'hunter2'}},
    }
    const read = await readSnapshotFiles([
      await file(
        's.json',
        JSON.stringify(
          snapshot({objects: [bad, {apiVersion: 'v1', kind: 'Secret', metadata: {name: 'x'}, data: {x: 'hunter2'}}]}),
        ),
      ),
    ])
    expect(JSON.stringify(read)).not.toContain('hunter2')
    expect(read.objects.length).toBe(1)
  })

  test('a message about bad YAML does not quote it', async () => {
    const {message} = await refusal(await file('x.yaml', 'password: "hunter2\nkey: [hunter2'))
    expect(message).toMatch(/^x\.yaml is no valid YAML at line \d+ \(\w+\)/)
    expect(message).not.toContain('hunter2')
  })
})

describe('sources that contradict each other', () => {
  test('the later counts, and a warning names both; the same twice is no contradiction', async () => {
    const one = await file('1.yaml', `${stringify(service('x'))}---\n${stringify(service('a', {type: 'NodePort'}))}`)
    const two = await file('2.json', JSON.stringify(service('a')))
    const read = await readSnapshotFiles([one, two, two])
    expect(read.warnings).toEqual([
      `service/demo/a stands in ${one} (document 2) and in ${two}, and they differ: the later counts`,
    ])
    expect(indexSnapshot(read).get('Service', 'demo', 'a')?.['spec']).toEqual({type: 'LoadBalancer'})
  })

  test('many are counted, not listed', async () => {
    const many = (type: string): string =>
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: Array.from({length: 30}, (_, index) => service(`s${index}`, {type})),
      })
    const read = await readSnapshotFiles([
      await file('1.json', many('NodePort')),
      await file('2.json', many('ClusterIP')),
    ])
    expect(read.warnings.length).toBe(11)
    expect(read.warnings[10]).toBe('20 more objects stand in two places and differ')
  })

  test('snapshots of two clusters', async () => {
    const one = await file('1.json', JSON.stringify(snapshot()))
    const two = await file('2.json', JSON.stringify(snapshot({cluster: {uid: 'two'}})))
    expect((await readSnapshotFiles([one, two])).warnings).toEqual([
      `${one} and ${two} are of two clusters: what follows mixes them`,
    ])
  })
})

describe('other versions', () => {
  test('unknown fields and an unknown state: read as far as it is known, with a warning', async () => {
    const reading = {
      group: '',
      version: 'v1',
      resource: 'pods',
      kind: 'Pod',
      verb: 'list',
      state: 'throttled',
      since: 1,
    }
    const path = await file('s.json', JSON.stringify(snapshot({weather: 'fine', readings: [reading, {odd: true}]})))
    const read = await readSnapshotFiles([path])
    expect(read.warnings).toEqual([
      `${path}: written by another version, a field is not known here: weather`,
      `${path}: state "throttled" of pods is not known here; it counts as partial`,
      `${path}: a reading that names no kind was passed over`,
    ])
    expect(indexSnapshot(read).state('Pod')).toBe('partial')
    // What was partial when it was taken is partial when it is read.
    expect(read.exitCode).toBe(23)
  })

  test('values of enums stay as they are: ipMode is open', async () => {
    const odd = {...service('a'), status: {loadBalancer: {ingress: [{ip: '192.0.2.1', ipMode: 'Router'}]}}}
    const read = await readSnapshotFiles([await file('o.yaml', stringify(odd))])
    expect(read.objects[0]).toMatchObject({status: {loadBalancer: {ingress: [{ipMode: 'Router'}]}}})
  })

  test('a higher format is refused with 32 and what to do', async () => {
    expect(await refusal(await file('s.json', JSON.stringify(snapshot({format: 7}))))).toEqual({
      message: 's.json is a Snapshot of format 7; this version reads up to 1',
      exitCode: 32,
      hints: ['update kubectl-srcip, or write the snapshot with this version'],
    })
  })

  test.each([
    [
      'another document of ours',
      {apiVersion: 'srcip.dev/v1alpha1', kind: 'DoctorReport'},
      'is a DoctorReport of kubectl srcip, which holds no cluster',
    ],
    [
      'a failed snapshot',
      {apiVersion: 'srcip.dev/v1alpha1', kind: 'Error', message: 'no answer'},
      'is a Error of kubectl srcip (no answer), which holds no cluster',
    ],
    ['no format', snapshot({format: 'x'}), 'is a Snapshot without a format number'],
    ['no objects', snapshot({objects: {}}), 'is a Snapshot without a list of objects'],
  ])('%s', async (_, document, said) => {
    const {message, exitCode} = await refusal(await file('x.json', JSON.stringify(document)))
    expect({message, exitCode}).toEqual({message: `x.json ${said}`, exitCode: 2})
  })
})

describe('files that cannot be read', () => {
  const whole = JSON.stringify(snapshot())
  const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${'bcdefghij'
    .split('')
    .map((name, index) => `${name}: &${name} [${Array(9).fill(`*${'abcdefghij'[index]}`).join(', ')}]`)
    .join('\n')}\nkind: Service\n`
  test.each([
    ['empty', '', /^x is empty \(0 bytes\)$/],
    ['only blanks', '   \n\n', /^x holds no/],
    ['only comments', '# nothing\n', /^x holds no object/],
    ['NUL', 'kind: Service\0', /^x is binary: byte 14 is NUL$/],
    ['no UTF-8', Buffer.from([0x6b, 0xff, 0xfe, 0x80]), /^x is no UTF-8 text$/],
    ['UTF-16', Buffer.from('\ufeffkind: Service', 'utf16le'), /^x is UTF-16$/],
    ['gzip', gzipSync('kind: Service'), /^x is compressed \(gzip\)$/],
    [
      'JSON cut off',
      whole.slice(0, -20),
      /^x is cut off: the JSON value that begins it does not end within \d+ characters$/,
    ],
    ['JSON cut off in a text', whole.slice(0, 200), /^x is cut off/],
    ['YAML cut off', stringify(snapshot()).slice(0, 60) + '"', /^x is no valid YAML at line \d+/],
    [
      'bad YAML in the second document',
      'a: 1\n---\nb: [',
      /^x \(document 2\) is no valid YAML at line 3 \(\w+\): it may be cut off$/,
    ],
    ['a YAML bomb', bomb, /^x uses its YAML anchors more than 100 times$/],
    [
      'an alias without anchor',
      'kind: *none',
      /^x uses a YAML alias or merge key \(<<\) that leads to nothing usable$/,
    ],
    ['an anchor that holds itself', 'kind: Service\nspec: &a {x: [1, *a]}', /^x is nested too deeply/],
    ['a merge of a text', '<<: a', /^x uses a YAML alias or merge key/],
    ['deep YAML', '['.repeat(100_000), /^x (?:is cut off|is nested)/],
    ['deep flow YAML', `a: ${'['.repeat(50_000)}${']'.repeat(50_000)}`, /^x is nested too deeply/],
    ['a scalar', 'hello', /^x holds no object of a kind that is used$/],
    [
      'only kinds of no use',
      stringify({apiVersion: 'example.org/v1', kind: 'Widget', metadata: {name: 'a'}}),
      /^x holds no object of a kind/,
    ],
  ])('%s', async (_, content, said) => {
    const {message, exitCode, hints} = await refusal(await file('x', content))
    expect(message).toMatch(said)
    expect(exitCode).toBe(2)
    expect(hints.length).toBeGreaterThan(0)
  })

  test('deep JSON ends with words, whichever parser gives up', async () => {
    const path = await file('x', `${'[{"a":'.repeat(200_000)}1${'}]'.repeat(200_000)}`)
    const {exitCode} = await refusal(path)
    expect(exitCode).toBe(2)
  })

  test('files that are too large to be meant', async () => {
    const path = await file('large.json', '{')
    await truncate(path, 300 * 1024 * 1024)
    expect((await refusal(path)).message).toBe('large.json has more than the 268435456 bytes that are read')
    const yaml = await file('large.yaml', `a: 1\n${'# padding\n'.repeat(5_100_000)}`)
    expect(await refusal(yaml)).toMatchObject({
      message: expect.stringMatching(/^large\.yaml has \d+ bytes of YAML, more than the 50331648 that are read$/),
      hints: [expect.stringContaining('as JSON')],
    })
  })

  test('a file that is not there, a folder without files, a link in a circle', async () => {
    expect(await refusal(join(folder, 'none'))).toMatchObject({message: 'none does not exist', exitCode: 2})
    await mkdir(join(folder, 'empty'))
    expect((await refusal(join(folder, 'empty'))).message).toBe('empty is a folder without .yaml, .yml or .json files')
    await symlink('loop', join(folder, 'loop'))
    expect((await refusal(join(folder, 'loop'))).message).toBe('loop is a symbolic link in a circle')
  })
})

test('no bytes make it crash: it reads, or refuses with words', async () => {
  const line = fc.oneof(
    fc.constantFrom(
      '---',
      'apiVersion: v1',
      'kind: Service',
      'kind: Snapshot',
      'apiVersion: srcip.dev/v1alpha1',
      'metadata:',
      '  name: a',
      'items:',
    ),
    fc.constantFrom(
      '- {}',
      '&a',
      '*a',
      '<<: *a',
      '!!binary x',
      '? [a]',
      '"',
      '{',
      '}',
      '[',
      '|',
      '\t',
      'objects: []',
      'format: 1',
      '__proto__: {a: 1}',
    ),
    fc.string(),
  )
  const texts = fc.oneof(
    fc.array(line, {maxLength: 15}).map((lines) => Buffer.from(lines.join('\n'))),
    fc.uint8Array({maxLength: 200}).map((bytes) => Buffer.from(bytes)),
    fc.json().map((text) => Buffer.from(text)),
  )
  await fc.assert(
    fc.asyncProperty(texts, async (bytes) => {
      const outcome: unknown = await readSnapshotFiles(['-'], {stdin: Readable.from([bytes])}).then(
        (read) => read.kind,
        (error: unknown) => error,
      )
      if (outcome !== 'Snapshot') {
        expect(outcome).toBeInstanceOf(SrcipError)
        expect((outcome as SrcipError).message).toMatch(/^stdin /)
      }
    }),
    {seed: propertySeed, numRuns: 500},
  )
})
