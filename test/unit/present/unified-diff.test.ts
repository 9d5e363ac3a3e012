import {expect, test} from 'vitest'
import {unifiedDiff} from '../../../src/present/unified-diff.ts'

test('equal texts have no diff', () => {
  expect(unifiedDiff('Corefile', 'a\n', 'a\n', false)).toBe('')
})

test('an added line stands between its neighbours', () => {
  expect(unifiedDiff('Corefile', '.:53 {\n    errors\n}\n', '.:53 {\n    reload\n    errors\n}\n', false)).toBe(
    ['--- a/Corefile', '+++ b/Corefile', '@@ -1,3 +1,4 @@', ' .:53 {', '+    reload', '     errors', ' }', ''].join(
      '\n',
    ),
  )
})

test('line ends and control characters can be seen and do nothing', () => {
  const text = unifiedDiff('Corefile', 'a\n', 'a\r\nb\u001b[2J\n', false)
  expect(text).toContain('+a\\x0d\n')
  expect(text).toContain('+b\\x1b[2J\n')
})

test('a missing newline at the end is named', () => {
  expect(unifiedDiff('Corefile', 'a', 'a\n', false)).toContain('\\ No newline at end of file')
})

test('colour marks what comes and what goes', () => {
  const text = unifiedDiff('Corefile', 'a\n', 'b\n', true)
  expect(text).toContain('\u001b[31m-a\u001b[0m')
  expect(text).toContain('\u001b[32m+b\u001b[0m')
})
