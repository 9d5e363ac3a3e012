/**
 * `npm test` after the bootstrap: the checks, then every test project. The last line on stdout is the sum over all of
 * them, `N passed, N failed, N skipped`; the checks together count as one. Exit code 1 when something failed, 21 when
 * all that ran was good but the bootstrap named something missing.
 */
import {spawnSync} from 'node:child_process'
import {mkdtempSync, readFileSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'

type Totals = {passed: number; failed: number; skipped: number}

/** The fields of vitest's JSON report that are added up. */
type Report = {
  success: boolean
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  numTodoTests: number
  testResults: {status: string; assertionResults: unknown[]}[]
}

const root = fileURLToPath(new URL('..', import.meta.url))
const projects = ['unit', 'command', 'packaged', 'cluster']

function runChecks(): Totals {
  const {status} = spawnSync(process.execPath, ['scripts/check.ts'], {cwd: root, stdio: 'inherit'})
  return {passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1, skipped: 0}
}

function runProject(project: string, folder: string): Totals {
  const file = join(folder, `${project}.json`)
  const shown = ['default', 'json', './test/support/second-tries.ts'].map((name) => `--reporter=${name}`)
  const reporters = [...shown, `--outputFile.json=${file}`]
  const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
  const args = [vitest, 'run', '--project', project, '--passWithNoTests', ...reporters]
  console.log(`\n--- ${project} ---`)
  const {status} = spawnSync(process.execPath, args, {cwd: root, stdio: 'inherit'})
  let report: Report
  try {
    report = JSON.parse(readFileSync(file, 'utf8')) as Report
  } catch {
    // A project without a single test file writes no report and ends well.
    return {passed: 0, failed: status === 0 ? 0 : 1, skipped: 0}
  }
  const brokenFiles = report.testResults.filter(
    (each) => each.status === 'failed' && each.assertionResults.length === 0,
  ).length
  const failed = report.numFailedTests + brokenFiles
  return {
    passed: report.numPassedTests,
    // A hook or an unhandled error can fail a run whose tests all passed.
    failed: failed === 0 && status !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

const folder = mkdtempSync(join(tmpdir(), 'srcip-test-'))
const totals: Totals = {passed: 0, failed: 0, skipped: 0}
for (const run of [runChecks, ...projects.map((project) => () => runProject(project, folder))]) {
  const {passed, failed, skipped} = run()
  totals.passed += passed
  totals.failed += failed
  totals.skipped += skipped
}
rmSync(folder, {recursive: true, force: true})
const missing = process.env['SRCIP_MISSING'] ?? ''
if (missing !== '') console.log(`\nNot everything could run; missing: ${missing}`)
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
process.exitCode = totals.failed > 0 ? 1 : missing === '' ? 0 : 21
