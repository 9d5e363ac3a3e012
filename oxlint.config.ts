import {defineConfig} from 'oxlint'
import {packages, rooms} from './arrows.ts'

/** From inside a room another room is `../../other/...`; plugins/coredns is reached through `plugins/coredns/`. */
function forbidden(room: string) {
  const {may, packages: allowed = [], pure} = rooms[room] as (typeof rooms)[string]
  const others = Object.keys(rooms).filter((other) => other !== room && !may.includes(other))
  const patterns = others.map((other) => {
    const [folder, name] = other.split('/') as [string, string]
    const path = folder === 'src' ? `(?:src/)?${name}` : `plugins/${name}`
    return {regex: `^(?:\\.\\./)+${path}/`, message: `${room} may not import ${other} (arrows.ts)`}
  })
  for (const name of packages) {
    if (!(allowed as readonly string[]).includes(name)) patterns.push({regex: `^${name}(?:/|$)`, message: `${room} may not import the package ${name} (arrows.ts)`})
  }
  if (pure) {
    // node:crypto is a pure function of bytes; the reload hash needs it. There is no look-ahead here, hence the first letters.
    const except = room === 'plugins/coredns' ? '(?:[^c]|c[^r])' : ''
    patterns.push({regex: `^node:${except}`, message: `${room} is pure: no I/O, no clock, no randomness (design: small pure cores)`})
  }
  if (room === 'plugins/coredns') patterns.push({regex: '^(?:\\.\\./)+src/', message: 'plugins/coredns knows nothing of src (arrows.ts)'})
  return patterns
}

export default defineConfig({
  plugins: ['typescript', 'unicorn', 'oxc', 'import'],
  categories: {correctness: 'error', suspicious: 'error'},
  options: {typeAware: true, denyWarnings: true},
  ignorePatterns: ['dist/**', 'node_modules/**', 'test/cases/**'],
  rules: {
    'import/no-cycle': 'error',
    'import/no-unassigned-import': 'off',
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': ['error', {checksVoidReturn: false}],
    // The exact shape of a hostile or foreign object is checked by hand; these rules only forbid writing that down.
    'typescript/no-unsafe-type-assertion': 'off',
    'typescript/consistent-return': 'off',
    'typescript/no-unnecessary-type-conversion': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'no-await-in-loop': 'off',
    'no-control-regex': 'off',
    'no-underscore-dangle': 'off',
    'no-shadow': 'off',
    'no-empty-pattern': 'off',
  },
  overrides: [
    ...Object.entries(rooms).map(([room, {pure}]) => ({
      files: [`${room}/**/*.ts`],
      rules: {
        'no-restricted-imports': ['error', {patterns: forbidden(room)}],
        ...(pure ? {'no-restricted-globals': ['error', 'Date', 'performance', 'process', 'setTimeout', 'setInterval', 'fetch', 'crypto'], 'no-console': 'error'} : {}),
      } as const,
    })),
    {files: ['test/**', 'scripts/**'], rules: {'typescript/no-non-null-assertion': 'off', 'typescript/unbound-method': 'off'}},
  ],
})
