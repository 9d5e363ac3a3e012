import {builtinModules} from 'node:module'
import {defineConfig, type OxlintConfig} from 'oxlint'
import {packages, rooms} from './arrows.ts'

/** From inside a room another room is `../../other/...`; plugins/coredns is reached through `plugins/coredns/`. */
function forbidden(room: string) {
  const {may, packages: allowed = [], builtins = [], pure} = rooms[room] as (typeof rooms)[string]
  const others = Object.keys(rooms).filter((other) => other !== room && !may.includes(other))
  const patterns = others.map((other) => {
    const [folder, name] = other.split('/') as [string, string]
    const path = folder === 'src' ? `(?:src/)?${name}` : `plugins/${name}`
    return {regex: `^(?:\\.\\./)+${path}/`, message: `${room} may not import ${other} (arrows.ts)`}
  })
  for (const name of packages) {
    if (!allowed.includes(name))
      patterns.push({regex: `^${name}(?:/|$)`, message: `${room} may not import the package ${name} (arrows.ts)`})
  }
  if (pure) {
    const impure = builtinModules.filter((name) => !name.startsWith('_') && !builtins.includes(name))
    const names = [...new Set([...impure.map((name) => name.replace(/^node:/, '').split('/')[0]), 'test', 'sqlite'])]
    patterns.push({
      regex: `^(?:node:)?(?:${names.join('|')})(?:/|$)`,
      message: `${room} is pure: no I/O, no clock, no randomness`,
    })
  }
  if (room === 'plugins/coredns')
    patterns.push({regex: '^(?:\\.\\./)+src/', message: 'plugins/coredns knows nothing of src (arrows.ts)'})
  return patterns
}

/** What a pure room may not touch. */
const impureGlobals = ['Date', 'performance', 'process', 'setTimeout', 'setInterval', 'fetch', 'crypto']

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
    'typescript/no-unnecessary-type-arguments': 'off',
    'typescript/no-unnecessary-type-parameters': 'off',
    'typescript/no-unnecessary-boolean-literal-compare': 'off',
    'typescript/no-redundant-type-constituents': 'off',
    'typescript/no-duplicate-type-constituents': 'off',
    'typescript/no-useless-default-assignment': 'off',
    'typescript/no-misused-spread': 'off',
    'typescript/require-array-sort-compare': 'off',
    'no-unmodified-loop-condition': 'off',
    'unicorn/no-new-array': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'unicorn/no-array-sort': 'off',
    'unicorn/no-array-reverse': 'off',
    'unicorn/no-useless-spread': 'off',
    'import/no-named-as-default': 'off',
    'import/no-named-as-default-member': 'off',
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
        'no-console': 'error',
        ...(pure ? {'no-restricted-globals': ['error', ...impureGlobals]} : {}),
      },
    })),
    {
      files: ['test/**', 'scripts/**'],
      rules: {'typescript/no-non-null-assertion': 'off', 'typescript/unbound-method': 'off'},
    },
  ] as NonNullable<OxlintConfig['overrides']>,
})
