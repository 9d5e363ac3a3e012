import {readFileSync} from 'node:fs'
import {expect, test} from 'vitest'

const plugin = new URL('../../../plugins/coredns/', import.meta.url)
const types = readFileSync(new URL('src/types.ts', plugin), 'utf8')
const readme = readFileSync(new URL('README.md', plugin), 'utf8')

const codesOf = (type: string): string[] => {
  const [, members = ''] = new RegExp(`export type ${type} =([^]*?)\\n\\n`).exec(types) ?? []
  return [...members.matchAll(/'(\w+)'/g)].map(([, code = '']) => code)
}
const documented = (heading: string): string[] => {
  const section = readme.slice(readme.indexOf(heading)).split('\n### ')[0] ?? ''
  return [...section.matchAll(/^\| `(\w+)` \| \S/gm)].map(([, code = '']) => code)
}

test.each([
  ['HostRefusalCode', '### Why one host is refused'],
  ['FileRefusalCode', '### Why a file is not touched'],
])('every %s is documented, and nothing else', (type, heading) => {
  expect(codesOf(type).length).toBeGreaterThan(10)
  expect(documented(heading.slice(4)).sort()).toEqual(codesOf(type).sort())
})
