import {globSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {expect, test} from 'vitest'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const rows = Array.from({length: 15}, (_, index) => index + 1)

/** Numbers of the fault table (docs/development.md) in the titles of tests that run: `fault 9, 10: …`. */
function faultsIn(text: string): number[] {
  const titles = text.matchAll(/\b(?:test|it)(\.\w+\([^`]*?\)|\.each\(\[[^]*?\]\))?\(\s*['"`]fault ([\d, ]+):/g)
  return [...titles]
    .filter(([, modifier = '']) => !/^\.(?:skip|todo)/.test(modifier))
    .flatMap(([, , numbers = '']) => numbers.split(',').map(Number))
}

/** Rows that no test names. */
function untested(files: ReadonlyMap<string, string>): number[] {
  const tested = new Set([...files.values()].flatMap(faultsIn))
  return rows.filter((row) => !tested.has(row))
}

const files = new Map(
  globSync('test/{unit,command,cluster}/**/*.test.ts', {cwd: root})
    .filter((path) => !path.endsWith('house/fault-table.test.ts'))
    .map((path) => [path, readFileSync(`${root}/${path}`, 'utf8')]),
)

test('each of the 15 rows of the fault table is named by a test', () => {
  expect(untested(files)).toEqual([])
})

test('a row without a test is found, also where its tests are skipped', () => {
  const less = new Map([...files].map(([path, text]) => [path, text.replaceAll('fault 11:', 'fault:')]))
  expect(untested(less)).toEqual([11])
  expect(faultsIn("test.skip('fault 3: slow', () => {})\ntest.todo('fault 4: quiet')")).toEqual([])
  expect(faultsIn("test.each([1, 2])(\n  'fault 5: %i', () => {})\ntest('fault 9, 10: gone', () => {})")).toEqual([
    5, 9, 10,
  ])
})

test('the table of docs/development.md has the same rows, and each file that it names has a test of its row', () => {
  const table = readFileSync(`${root}/docs/development.md`, 'utf8').matchAll(/^\| (\d+) \| [^|]+ \| ([^|]+) \|$/gm)
  const described = [...table].map(([, row = '', places = '']) => [Number(row), places] as const)
  expect(described.map(([row]) => row)).toEqual(rows)
  for (const [row, places] of described) {
    const named = [...places.matchAll(/`([\w/-]+?)(?:\.test\.ts)?`/g)].map(([, name = '']) => `/${name}.test.ts`)
    for (const name of named) {
      const tested = [...files].filter(([path]) => path.endsWith(name)).flatMap(([, text]) => faultsIn(text))
      expect(tested, `${name} in row ${row}`).toContain(row)
    }
    expect(named, `row ${row}`).not.toEqual([])
  }
})
