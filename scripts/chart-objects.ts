/**
 * Writes charts/objects.json: what the chart renders for one pair, which `enable` applies where there is no Helm (`--check` only compares).
 * Rendered by the real Helm of the test bed; test/cluster/chart/objects.test.ts compares in CI.
 */
import {readFileSync, writeFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {chartObjects} from '../test/cluster/chart/chart-objects.ts'
import {partPath} from '../test/cluster/bed/parts.ts'

const target = fileURLToPath(new URL('../charts/objects.json', import.meta.url))
const helm = await partPath('helm')
if (typeof helm !== 'string') throw new Error(`helm is missing: ${helm.missing}`)
const text = await chartObjects(helm)
if (!process.argv.includes('--check')) writeFileSync(target, text)
else if (readFileSync(target, 'utf8') !== text) {
  console.error('charts/objects.json is out of date: node scripts/chart-objects.ts, then commit it')
  process.exitCode = 1
}
