import {readFileSync} from 'node:fs'
import {describe, expect, test} from 'vitest'
import {parse as parseYaml} from 'yaml'
import {
  bindAddresses,
  checkListeners,
  checkSetup,
  formatServedZone,
  inspectKeys,
  parseCorefile,
  type CorefileError,
  type ParsedCorefile,
} from '../../../plugins/coredns/src/index.ts'

interface Vector {
  readonly id: string
  readonly title: string
  readonly corefile: string
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
  readonly start: 'ok' | 'fail'
  readonly stage?: 'parser' | 'inspect' | 'setup' | 'servers'
  readonly error?: string | readonly string[]
  readonly reload: 'accept' | 'parse-fail' | 'restart-fail'
  readonly servers?: readonly string[]
}

const file = new URL('../../cases/corefile-vectors.yaml', import.meta.url)
const vectors = (parseYaml(readFileSync(file, 'utf8')) as {vectors: Vector[]}).vectors
const encoder = new TextEncoder()

function read({corefile, files, env}: Vector, directives: boolean): ParsedCorefile {
  return parseCorefile(encoder.encode(corefile), {
    path: '/etc/coredns/Corefile',
    files: new Map(Object.entries(files ?? {}).map(([path, text]) => [`/etc/coredns/${path}`, encoder.encode(text)])),
    env: {known: new Map(Object.entries(env ?? {})), others: 'unset'},
    directives,
  })
}

/** First error of a start, phase by phase. */
function startError(parsed: ParsedCorefile): CorefileError | undefined {
  const inspected = inspectKeys(parsed)
  return parsed.error ?? inspected.error ?? checkSetup(parsed).errors[0] ?? checkListeners(parsed, inspected)
}

const stages = {parser: 'parse', inspect: 'inspect', setup: 'setup', servers: 'servers'}

test('all vectors are here', () => {
  expect(vectors).toHaveLength(64)
})

describe.each(vectors)('$id $title', (vector) => {
  const parsed = read(vector, true)

  test(`a start is ${vector.start}`, () => {
    const error = startError(parsed)
    if (vector.start === 'ok') {
      expect(error).toBeUndefined()
      return
    }
    expect(error?.phase).toBe(stages[vector.stage ?? 'parser'])
    for (const part of [vector.error ?? []].flat()) expect(error?.message).toContain(part)
    if (vector.stage === 'parser') expect(error?.message).toMatch(/^\/etc\/coredns\/\S+:\d+ - /)
  })

  test(`a reload is ${vector.reload}`, () => {
    const failsWithoutList = read(vector, false).error !== undefined
    expect(failsWithoutList).toBe(vector.reload === 'parse-fail')
    if (vector.reload !== 'parse-fail') expect(startError(parsed) !== undefined).toBe(vector.reload === 'restart-fail')
  })

  if (vector.servers && parsed.blocks.length > 0) {
    const {servers} = vector
    test('the same zones are served', () => {
      const zones = inspectKeys(parsed).zones.flatMap((zone) =>
        bindAddresses(parsed.blocks[zone.block] as ParsedCorefile['blocks'][number]).map((address) =>
          formatServedZone(zone, address),
        ),
      )
      expect(zones).toEqual(servers)
    })
  }
})

test('V22: a file without a server block leaves CoreDNS to its built-in default', () => {
  const vector = vectors.find(({id}) => id === 'V22') as Vector
  expect(read(vector, true).blocks).toEqual([])
})
