/** `npm run bench [-- NAME…]`: prints each figure beside its peer's, measured in the same run. Asserts nothing. */
import {readdirSync} from 'node:fs'
import type {Bench} from '../test/bench/bench.ts'

const folder = new URL('../test/bench/', import.meta.url)
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length))
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !names.includes(name))
if (unknown.length > 0) {
  console.error(`error: no bench is called ${unknown.join(', ')}; there are ${names.join(', ')}`)
  process.exit(2)
}
for (const name of names) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const {bench} = (await import(new URL(`${name}.bench.ts`, folder).href)) as {bench: Bench}
  console.log(`\n## ${bench.title}\n`)
  const rows = await bench.run((line) => process.stderr.write(`  ${line}\n`))
  const cells = [
    ['work', 'ours', 'peer', 'ratio', 'goal'],
    ...rows.map((row) => [
      row.work,
      row.ours,
      row.peer,
      row.ratio === undefined ? '-' : row.ratio.toFixed(2),
      row.goal,
    ]),
  ]
  const widths = [0, 1, 2, 3, 4].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  for (const row of cells)
    console.log(
      row
        .map((cell, column) => cell.padEnd((widths[column] ?? 0) + 2))
        .join('')
        .trimEnd(),
    )
}
