import fc from 'fast-check'
import {expect, test} from 'vitest'
import {layoutTable, printable} from '../../../src/present/table.ts'

test('columns line up as kubectl does, nothing stands behind the last cell', () => {
  expect(
    layoutTable(
      ['NAME', 'READY', 'AGE'],
      [
        ['coredns-a', '1/1', '3m'],
        ['x', '0/1', ''],
      ],
    ),
  ).toBe(['NAME        READY   AGE', 'coredns-a   1/1     3m', 'x           0/1', ''].join('\n'))
  expect(layoutTable(['NAME', 'AGE'], [['a', 'b']], false)).toBe('a   b\n')
})

test('hostile cells cannot move the cursor or add lines', () => {
  expect(printable('a\u001b[2Jb\nc\u202ed')).toBe('a\\x1b[2Jb\\x0ac\\u202ed')
  fc.assert(
    fc.property(fc.array(fc.array(fc.string({unit: 'binary'}), {minLength: 2, maxLength: 2})), (rows) => {
      const text = layoutTable(['A', 'B'], rows)
      expect(text.split('\n').length).toBe(rows.length + 2)
      // eslint-disable-next-line no-control-regex
      expect(text.replaceAll('\n', '')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
    }),
  )
})
