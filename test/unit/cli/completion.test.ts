import {expect, test} from 'vitest'
import {candidates, type Manifest} from '../../../src/cli/completion.ts'

const flags = {
  output: {name: 'output', char: 'o', type: 'option', options: ['table', 'json'], summary: 'how to print'},
  filename: {name: 'filename', char: 'f', type: 'option', helpValue: 'FILE'},
  yes: {name: 'yes', char: 'y', type: 'boolean'},
} as const
const manifest: Manifest = {
  commands: {
    'coredns:apply': {summary: 'Apply', flags},
    'coredns:plan': {summary: 'Plan', flags},
    proxy: {summary: 'Proxy', flags: {}},
    secret: {summary: 'no', hidden: true, flags: {}},
  },
}
const values = (words: string[]) => candidates(words, manifest).lines.map(({value}) => value)

test.each([
  [[''], ['coredns', 'proxy']],
  [['co'], ['coredns']],
  [
    ['coredns', ''],
    ['apply', 'plan'],
  ],
  [['coredns', 'p'], ['plan']],
  [['coredns', 'apply', '--o'], ['--output']],
  [
    ['coredns', 'apply', '-o', ''],
    ['table', 'json'],
  ],
  [['coredns', 'apply', '-o', 'j'], ['json']],
  [
    ['coredns', 'apply', '--output=j'],
    ['--output=table', '--output=json'],
  ],
  [['coredns', 'apply', '-y', ''], []],
  [['nope', ''], []],
  [[], ['coredns', 'proxy']],
])('%j offers %j', (words, expected) => {
  expect(values(words)).toEqual(expected)
})

test('file names are left to the shell where a file is wanted', () => {
  expect(candidates(['coredns', 'apply', '-f', ''], manifest).directive).toBe(0)
  expect(candidates(['coredns', 'apply', '-o', ''], manifest).directive).toBe(4)
})
