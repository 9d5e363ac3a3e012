import {readFileSync} from 'node:fs'
import {describe, expect, test} from 'vitest'
import {parse as parseYaml} from 'yaml'
import {parseCorefile, simulate, type Simulation} from '../../../plugins/coredns/src/index.ts'

interface VectorQuery {
  readonly q: string
  readonly at?: string
  readonly block: number | null
  readonly seen?: string
  readonly owner?: string
  readonly question?: string
  readonly rcode?: string
}

interface Vector {
  readonly id: string
  readonly title: string
  readonly corefile: string
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly queries?: readonly VectorQuery[]
  readonly differs?: Readonly<Record<string, string>>
}

const file = new URL('../../cases/corefile-vectors.yaml', import.meta.url)
const vectors = (parseYaml(readFileSync(file, 'utf8')) as {vectors: Vector[]}).vectors
const encoder = new TextEncoder()

/** Each probe line becomes a template whose record tells block and name, on the line of the comment. */
function withProbes(text: string): string {
  let count = 0
  return text.replace(/^[ \t]*#@probe *(\d*)/gm, (_, given: string) => {
    const number = given === '' ? count : Number(given)
    count += 1
    return `  template IN TXT . {\n answer "{{ .Name }} 60 IN TXT \\"B${number} {{ .Name }}\\""\n }`
  })
}

function ask(
  vector: Vector,
  query: VectorQuery,
  version: {major: number; minor: number; patch: number},
): Simulation | undefined {
  const parsed = parseCorefile(encoder.encode(withProbes(vector.corefile)), {
    path: '/etc/coredns/Corefile',
    files: new Map(
      Object.entries(vector.files ?? {}).map(([path, text]) => [`/etc/coredns/${path}`, encoder.encode(text)]),
    ),
    env: {known: new Map(Object.entries(vector.env ?? {})), others: 'unset'},
    version,
  })
  const [name = '', type = ''] = query.q.split(' ')
  const [address = '127.0.0.1', port = '53'] = (query.at ?? '127.0.0.1:53').split(':')
  return simulate(parsed, {name, type, client: '127.0.0.1', listener: {address, port}})
}

const asked = vectors.flatMap((vector) =>
  (vector.queries ?? []).map((query) => ({vector, query, id: vector.id, q: query.q})),
)

describe('the queries of the vectors', () => {
  test('are all here', () => {
    expect(asked).toHaveLength(78)
  })

  test.each(asked)('$id $q', ({vector, query}) => {
    const simulation = ask(vector, query, {major: 1, minor: 14, patch: 7})
    const [name = ''] = query.q.split(' ')
    expect(simulation?.reply?.rcode).toBe(query.rcode ?? 'NOERROR')
    expect(simulation?.reply?.question.name).toBe(query.question ?? name)
    expect(simulation?.block ?? null).toBe(query.rcode === 'REFUSED' ? null : query.block)
    if (query.seen === undefined) return
    const [record] = simulation?.reply?.answer ?? []
    expect(record?.data).toBe(`B${query.block ?? ''} ${query.seen}`)
    expect(record?.name).toBe(query.owner)
    // A name with bytes beyond ASCII is kept as it was written; only the wire escapes it.
    if (!query.seen.includes('\\'))
      expect([simulation?.seen?.name.toLowerCase(), simulation?.owner]).toEqual([query.seen, query.owner])
  })
})

describe('older releases', () => {
  const of = (id: string) => vectors.find((vector) => vector.id === id) as Vector
  const first = (id: string) => of(id).queries?.[0] as VectorQuery

  test.each([
    ['V45', {major: 1, minor: 11, patch: 3}, 'b.example.'],
    ['V45', {major: 1, minor: 11, patch: 4}, 'a.example.'],
  ] as const)('%s: the owner of a chain in %j is %s', (id, version, owner) => {
    expect(ask(of(id), first(id), version)?.reply?.answer[0]?.name).toBe(owner)
  })

  test.each(['V04', 'V48', 'V54'])('%s does not load in 1.8.0', (id) => {
    expect(ask(of(id), first(id), {major: 1, minor: 8, patch: 0})).toBeUndefined()
  })

  test('V31: before 1.9.0 the error carries the rewritten question', () => {
    expect(ask(of('V31'), first('V31'), {major: 1, minor: 8, patch: 4})?.reply?.question.name).toBe('b.example.')
    expect(ask(of('V31'), first('V31'), {major: 1, minor: 9, patch: 3})?.reply?.question.name).toBe('a.example.')
  })
})
