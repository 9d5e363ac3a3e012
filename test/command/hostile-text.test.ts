import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, expect, test} from 'vitest'
import {srcip} from '../support/srcip.ts'

const folder = mkdtempSync(join(tmpdir(), 'srcip-hostile-'))
afterAll(() => rmSync(folder, {recursive: true, force: true}))

const steering = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\ufeff]/
const word = '\u001b[31mevil\u001b]0;title\u0007\u009b2J\u202e\ufeff'

const corefiles: readonly (readonly [string, string])[] = [
  ['a directive', `.:53 {\n    ${word}\n    forward . 192.0.2.53\n}\n`],
  ['an argument', `.:53 {\n    rewrite name exact ${word} a b c d\n    forward . 192.0.2.53\n}\n`],
  ['a key', `${word}.example.org:53 {\n    errors\n}\n.:53 {\n    forward . 192.0.2.53\n}\n`],
  ['a comment', `.:53 {\n    # ${word}\n    forward . 192.0.2.53\n}\n`],
]

for (const [where, text] of corefiles) {
  test.each([
    ['show'],
    ['show', '-o', 'json'],
    ['lint'],
    ['lint', '-o', 'json'],
    ['plan', '--host', 'shop.example.org'],
    ['plan', '--host', 'shop.example.org', '-o', 'diff', '--color=never'],
    ['query', 'shop.example.org'],
  ])(`control characters in ${where} never reach the terminal: %s %s %s`, async (command, ...rest) => {
    const file = join(folder, 'Corefile')
    writeFileSync(file, text)
    const {stdout, stderr, exitCode} = await srcip(['coredns', command, ...rest, '-f', file])
    expect(stdout).not.toMatch(steering)
    expect(stderr).not.toMatch(steering)
    expect(stdout + stderr).not.toBe('')
    expect([0, 22, 32]).toContain(exitCode)
  })
}

test('names in a kubeconfig and words of the command line are shown, not obeyed', async () => {
  const file = join(folder, 'config')
  writeFileSync(file, JSON.stringify({kind: 'Config', 'current-context': word, contexts: [{name: `${word}2`}]}))
  for (const words of [
    ['coredns', 'show', '--kubeconfig', file],
    ['coredns', word],
    ['coredns', 'show', `--${word}`],
    ['coredns', 'show', '-f', join(folder, word)],
  ]) {
    const {stderr, exitCode} = await srcip(words)
    expect(stderr).toMatch(/\\(?:x1b|u001b)\[31mevil/)
    expect(stderr).not.toMatch(steering)
    expect(exitCode).toBe(2)
  }
})
