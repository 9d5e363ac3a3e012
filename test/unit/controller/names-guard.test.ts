import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {guardNames, keyOf} from '../../../src/controller/names-guard.ts'
import type {GuardInput, Published} from '../../../src/controller/names-guard.ts'

const names = (count: number, from = 0): Published[] =>
  Array.from({length: count}, (_, index) => ({name: `n${index + from}.example.org`, kind: 'exact', target: 'srcip/p'}))

function guard(input: Partial<GuardInput>) {
  return guardNames({
    published: [],
    wanted: [],
    complete: true,
    observed: () => false,
    addedHere: () => false,
    confirmed: false,
    allowEmpty: false,
    ...input,
  })
}

describe('whole-set rule', () => {
  test('while a source is missing names are only added', () => {
    const verdict = guard({published: names(3), wanted: names(2, 2), complete: false})
    expect(verdict.reason).toBe('sources-incomplete')
    expect(verdict.names.map((entry) => entry.name)).toEqual([
      'n2.example.org',
      'n3.example.org',
      'n0.example.org',
      'n1.example.org',
    ])
  })

  test('while a source is missing, only what this process has added itself and has seen go may go', () => {
    const added = (entry: Published): boolean => entry.name === 'n1.example.org'
    const input = {published: names(3), wanted: names(1), complete: false, addedHere: added}
    expect(guard(input).kept.map((entry) => entry.name)).toEqual(['n1.example.org', 'n2.example.org'])
    expect(guard({...input, observed: () => true}).kept.map((entry) => entry.name)).toEqual(['n2.example.org'])
  })

  test('an observed delete is believed at any scale, also the last one', () => {
    expect(guard({published: names(500), wanted: [], observed: () => true})).toEqual({names: [], kept: []})
  })

  test('B32 e: an empty list after three hosts is not believed', () => {
    const verdict = guard({published: names(3), wanted: []})
    expect(verdict.reason).toBe('empty-list')
    expect(verdict.names).toHaveLength(3)
    expect(guard({published: names(3), wanted: [], confirmed: true}).reason).toBe('empty-list')
    expect(guard({published: names(3), wanted: [], allowEmpty: true})).toEqual({names: [], kept: []})
  })

  test('over half and over ten missing from a list: only after a second one', () => {
    expect(guard({published: names(21), wanted: names(10)}).reason).toBe('mass-removal')
    expect(guard({published: names(21), wanted: names(10), confirmed: true})).toMatchObject({kept: []})
    // 11 of 22 is not over half, 10 of 10 is not over ten
    expect(guard({published: names(22), wanted: names(11)}).kept).toEqual([])
    expect(guard({published: names(11), wanted: names(1)}).kept).toEqual([])
  })

  test('only what a list lacks is kept back, not what was seen to go', () => {
    const verdict = guard({
      published: names(30),
      wanted: names(5),
      observed: (entry) => entry.name === 'n29.example.org',
    })
    expect(verdict.reason).toBe('mass-removal')
    expect(verdict.names.map((entry) => entry.name)).not.toContain('n29.example.org')
    expect(verdict.names).toHaveLength(29)
  })

  test('a name that moves to another target is not missing', () => {
    const moved = names(30).map((entry) => ({...entry, target: 'srcip/other'}))
    expect(guard({published: names(30), wanted: moved})).toEqual({names: moved, kept: []})
  })
})

test('wanted names are always in, nothing else but published ones, each once', () => {
  const some = fc.uniqueArray(fc.integer({min: 0, max: 40}), {maxLength: 40})
  fc.assert(
    fc.property(
      some,
      some,
      some,
      fc.boolean(),
      fc.boolean(),
      fc.boolean(),
      (a, b, seen, complete, confirmed, allowEmpty) => {
        const of = (list: number[]): Published[] => list.map((index) => names(1, index)[0] as Published)
        const published = of(a)
        const wanted = of(b)
        const observedKeys = new Set(of(seen).map(keyOf))
        const verdict = guard({
          published,
          wanted,
          complete,
          confirmed,
          allowEmpty,
          addedHere: () => false,
          observed: (entry) => observedKeys.has(keyOf(entry)),
        })
        const keys = verdict.names.map(keyOf)
        expect(new Set(keys).size).toBe(keys.length)
        for (const entry of wanted) expect(keys).toContain(keyOf(entry))
        const known = new Set([...published, ...wanted].map(keyOf))
        for (const key of keys) expect(known.has(key)).toBe(true)
        if (!complete) for (const entry of published) expect(keys).toContain(keyOf(entry))
      },
    ),
  )
})
