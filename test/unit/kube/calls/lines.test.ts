import fc from 'fast-check'
import {expect, test} from 'vitest'
import {LineSplitter, LineTooLongError} from '../../../../src/kube/calls/lines.ts'

test('however the bytes are cut, the lines are the same', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({maxLength: 40})), fc.array(fc.nat({max: 12})), (lines, cuts) => {
      const clean = lines.map((line) => Buffer.from(line.map((byte) => (byte === 10 ? 11 : byte))))
      const whole = Buffer.concat(clean.flatMap((line) => [line, Buffer.from('\n')]))
      const splitter = new LineSplitter()
      const found: Buffer[] = []
      let at = 0
      for (const cut of [...cuts, whole.length]) {
        found.push(...splitter.push(whole.subarray(at, at + cut)))
        at += cut
      }
      found.push(...splitter.push(whole.subarray(at)))
      expect(found.map((line) => line.toString('hex'))).toEqual(clean.map((line) => line.toString('hex')))
      expect(splitter.pending).toBe(0)
    }),
  )
})

test('fault 15: a line may be as long as the limit, in any number of pieces, and not longer', () => {
  const splitter = new LineSplitter(10)
  expect(splitter.push(Buffer.from('01234'))).toEqual([])
  expect(splitter.push(Buffer.from('56789\nx')).map(String)).toEqual(['0123456789'])
  expect(splitter.pending).toBe(1)
  expect(() => splitter.push(Buffer.from('0123456789'))).toThrow(LineTooLongError)
})
