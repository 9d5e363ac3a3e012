import fc from 'fast-check'
import {expect, test} from 'vitest'
import {jsonPieces, toJson} from '../../../src/present/serialise.ts'
import type {SrcipDocument} from '../../../src/model/documents.ts'
import {propertySeed} from '../../support/property-seed.ts'

const frame = {apiVersion: 'srcip.dev/v1alpha1', kind: 'X', exitCode: 0, changed: false, warnings: []} as const

test('the pieces together are the bytes of the whole', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()))), (payload) => {
      const document = {...frame, payload: undefined, ...payload} as unknown as SrcipDocument
      expect([...jsonPieces(document)].join('')).toBe(toJson(document))
    }),
    {seed: propertySeed, numRuns: 300},
  )
})

test('a large list comes in several pieces, none of them large', () => {
  const document = {...frame, objects: Array.from({length: 5000}, (_, index) => ({name: `object ${index}\u202e`}))}
  const pieces = [...jsonPieces(document)]
  expect(pieces.length).toBeGreaterThan(2)
  expect(Math.max(...pieces.map(({length}) => length))).toBeLessThan(200_000)
  expect(pieces.join('')).toBe(toJson(document))
  expect(pieces.join('')).not.toContain('\u202e')
})
