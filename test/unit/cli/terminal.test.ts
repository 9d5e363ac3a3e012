import {expect, test} from 'vitest'
import {usesColor} from '../../../src/cli/terminal.ts'

const terminal = {isTTY: true}
const pipe = {}

test.each([
  ['auto', terminal, {}, true],
  ['auto', pipe, {}, false],
  ['auto', terminal, {NO_COLOR: '1'}, false],
  ['auto', terminal, {NO_COLOR: ''}, true],
  ['auto', terminal, {TERM: 'dumb'}, false],
  ['always', pipe, {NO_COLOR: '1'}, true],
  ['never', terminal, {}, false],
] as const)('--color %s on %j with %j: %s', (choice, stream, environment, colored) => {
  expect(usesColor(choice, stream, environment)).toBe(colored)
})
