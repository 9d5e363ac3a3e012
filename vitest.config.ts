import {defineConfig} from 'vitest/config'

/** Real parts need time to start; unit tests do not get that excuse. */
const minutes = 60_000

export default defineConfig({
  test: {
    disableConsoleIntercept: true,
    pool: 'forks',
    reporters: ['default'],
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
