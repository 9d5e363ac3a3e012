import {globSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {expect, test} from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))

/** What copying by digest trips over, known from other tools; the numbers are those of docs/development.md. */
const traps = Array.from({length: 48}, (_, index) => index + 1)

/** Numbers in the titles of tests that run: `trap 9, 10: …`. */
function trapsIn(text: string): number[] {
  const calls = text.matchAll(/\b(?:test|it)(\.\w+)?(?:\(\[[^]*?\](?: as const)?\))?\(\s*['"`]trap (\d+(?:, \d+)*): /g)
  return [...calls]
    .filter(([, modifier = '']) => !/^\.(?:skip|todo)/.test(modifier))
    .flatMap(([, , numbers = '']) => numbers.split(', ').map(Number))
}

function untested(files: ReadonlyMap<string, string>): number[] {
  const tested = new Set([...files.values()].flatMap(trapsIn))
  return traps.filter((trap) => !tested.has(trap))
}

const files = new Map(
  globSync('test/{unit,command,cluster}/**/*.test.ts', {cwd: root})
    .filter((path) => !path.endsWith('house/mirror-traps.test.ts'))
    .map((path) => [path, readFileSync(`${root}/${path}`, 'utf8')]),
)

test('each of the 48 traps of the mirror is named by a test', () => {
  expect(untested(files)).toEqual([])
})

test('a trap without a test is found, also where its tests are skipped', () => {
  const less = new Map([...files].map(([path, text]) => [path, text.replace(/\btrap 31: /g, 'cache: ')]))
  expect(untested(less)).toEqual([31])
  expect(trapsIn("test.skip('trap 3: a', () => {})\ntest.todo('trap 4: b')")).toEqual([])
  expect(trapsIn("test.each([\n  ['x'],\n])('trap 5: %s', () => {})\ntest('trap 9, 10: c', () => {})")).toEqual([
    5, 9, 10,
  ])
})

test('docs/development.md lists the same numbers', () => {
  const table = readFileSync(`${root}/docs/development.md`, 'utf8').split('What `mirror` must not trip over')[1] ?? ''
  const listed = [...table.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number))
  expect(listed.slice(0, traps.length)).toEqual(traps)
})
