import {expect, test} from 'vitest'
import {modeOf} from '../../../src/controller/dns-output.ts'
import type {WriteTo} from '../../../src/controller/options.ts'

test.each<[writeTo: readonly WriteTo[], mode: ReturnType<typeof modeOf>]>([
  [['auto'], 'auto'],
  [['corefile'], 'corefile'],
  [['import'], 'import'],
  [['hosts', 'corefile'], 'corefile'],
  [['import', 'external-dns'], 'import'],
  [['corefile', 'import'], 'auto'],
  [['auto', 'import'], 'auto'],
])('--write-to %j is mode %s', (writeTo, mode) => {
  expect(modeOf(writeTo)).toBe(mode)
})
