/** Builds the parts of the test bed that are not there yet. Exit code 21 when some cannot be had; they are named. */
import {partPath, PREPARED} from '../test/cluster/bed/parts.ts'

let missing = 0
for (const name of PREPARED) {
  const path = await partPath(name)
  if (typeof path === 'string') continue
  missing += 1
  process.stderr.write(`parts: ${name} is missing: ${path.missing}\n`)
}
process.exitCode = missing === 0 ? 0 : 21
