/** Runs every check, also after one has failed, and ends in one line. `npm run check NAME…` runs only the named ones. */
import {spawnSync} from 'node:child_process'

const checks: Readonly<Record<string, readonly string[]>> = {
  types: ['tsc', '--noEmit'],
  lint: ['oxlint'],
  format: ['prettier', '--check', '--log-level', 'warn', '.'],
  'dead-code': ['knip', '--no-progress'],
  generated: ['node', 'scripts/build.ts', '--check'],
}

const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in checks))
if (unknown.length > 0) {
  console.error(`error: no check is called ${unknown.join(', ')}; there are ${Object.keys(checks).join(', ')}`)
  process.exit(2)
}

const failed: string[] = []
for (const [name, [command, ...parameters]] of Object.entries(checks)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const started = performance.now()
  const {status, error} = spawnSync(command as string, parameters, {stdio: 'inherit'})
  const ok = status === 0 && error === undefined
  if (!ok) failed.push(name)
  console.log(`${ok ? '✔' : '✘'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
}
if (failed.length > 0) console.error(`checks failed: ${failed.join(', ')}`)
process.exitCode = failed.length > 0 ? 1 : 0
