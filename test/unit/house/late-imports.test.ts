import {readdirSync, readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {expect, test} from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** ES modules, and what stays outside the bundle: their names survive a late import. */
const mayBeImportedLate = /^(?:node:.*|jq-wasm|typebox(?:\/.*)?|@kubernetes\/client-node)$/

test('packages are imported late only through a module of ours (docs/development.md)', () => {
  const found: string[] = []
  let files = 0
  for (const entry of readdirSync(`${root}src`, {recursive: true, withFileTypes: true})) {
    if (!entry.name.endsWith('.ts')) continue
    files++
    const text = readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8')
    for (const [, name = ''] of text.matchAll(/\bimport\('([^.'][^']*)'\)/g)) {
      if (!mayBeImportedLate.test(name)) found.push(`${entry.name}: ${name}`)
    }
  }
  expect(files).toBeGreaterThan(100)
  expect(found).toEqual([])
})
