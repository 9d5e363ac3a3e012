import {globSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {expect, test} from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'oclif.manifest.json'), 'utf8')) as {commands: object}
const commands = new Set(Object.keys(manifest.commands).map((id) => id.replaceAll(':', ' ')))
const topics = new Set([...commands].filter((name) => name.includes(' ')).map((name) => name.split(' ')[0]))

/** Words that follow `kubectl srcip` in a sentence and are no command. */
const prose = new Set(['that'])

function missing(text: string): string[] {
  return [...text.matchAll(/kubectl srcip ([a-z-]+)(?: ([a-z-]+))?/g)]
    .map(([, first = '', second]) => (topics.has(first) && second !== undefined ? `${first} ${second}` : first))
    .filter((name) => !commands.has(name) && !topics.has(name) && !prose.has(name))
}

test('remedies, hints, help and docs name only commands that exist', () => {
  expect(
    missing('kubectl srcip hub; kubectl srcip lb frob; kubectl srcip lb render; kubectl srcip coredns show'),
  ).toEqual(['hub', 'lb frob'])
  const files = [
    'README.md',
    'docs/**/*.{md,sh}',
    'charts/**/*',
    'plugins/coredns/{README.md,src/**/*.ts}',
    'src/**/*.ts',
  ]
  const found = files
    .flatMap((pattern) => globSync(pattern, {cwd: root}))
    .filter((file) => /\.\w+$/.test(file))
    .map((file) => ({file, names: missing(readFileSync(join(root, file), 'utf8'))}))
  expect(found.length).toBeGreaterThan(300)
  expect(found.filter(({names}) => names.length > 0)).toEqual([])
})
