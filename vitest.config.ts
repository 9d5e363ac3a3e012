import {defineConfig} from 'vitest/config'
import {seedFrom} from './test/support/property-seed.ts'

/** Real parts need time to start; unit tests do not get that excuse. */
const minutes = 60_000

/** Everything that draws takes this seed, in every test file; see docs/development.md. */
const seed = seedFrom(process.env['SRCIP_SEED'])
process.env['SRCIP_SEED'] = String(seed)
console.error(`SRCIP_SEED=${seed}`)

export default defineConfig({
  test: {
    setupFiles: ['test/support/fixed-seed.ts'],
    disableConsoleIntercept: true,
    pool: 'forks',
    reporters: ['default', './test/support/second-tries.ts'],
    projects: [
      {extends: true, test: {name: 'unit', include: ['test/unit/**/*.test.ts'], testTimeout: 30_000}},
      {extends: true, test: {name: 'command', include: ['test/command/**/*.test.ts'], testTimeout: 60_000}},
      {
        extends: true,
        test: {
          name: 'cluster',
          include: ['test/cluster/**/*.test.ts'],
          testTimeout: 5 * minutes,
          hookTimeout: 5 * minutes,
          // Real processes on a busy machine: one more try, and the report names who needed it.
          retry: 1,
          fileParallelism: false,
        },
      },
      {
        extends: true,
        test: {
          name: 'packaged',
          include: ['test/packaged/**/*.test.ts'],
          testTimeout: 5 * minutes,
          hookTimeout: 5 * minutes,
        },
      },
    ],
  },
})
