/**
 * `npm run demo` after the bootstrap: heals a hairpin on real parts, step by step. Without the parts it shows what needs
 * no cluster, names what is missing and ends with 21. Otherwise 0 only if every step held.
 */
import {BED_PARTS, partPath} from '../test/cluster/bed/index.ts'
import {healHairpin} from './demo/heal-hairpin.ts'
import {narrator} from './demo/narrator.ts'
import {withoutCluster} from './demo/without-cluster.ts'

const tell = narrator()
const missing = await missingParts()
try {
  if (missing.length > 0) {
    tell.note('The cluster part of the demo cannot run. Missing:')
    for (const line of missing) tell.note(`  ${line}`)
    await withoutCluster(tell)
    tell.verdict(`the part without a cluster held; missing for the rest: ${missing.join('; ')}`)
    process.exitCode = 21
  } else {
    await healHairpin(tell)
    tell.verdict('all five steps held')
  }
} catch (error) {
  tell.verdict(`FAILED in "${tell.current()}": ${(error as Error).message}`)
  process.exitCode = 1
}

/** One line a reason: the parts that are missing for it. */
async function missingParts(): Promise<string[]> {
  const names = new Map<string, string[]>()
  for (const name of BED_PARTS) {
    const path = await partPath(name)
    if (typeof path !== 'string') names.set(path.missing, [...(names.get(path.missing) ?? []), name])
  }
  return [...names].map(([reason, parts]) => `${parts.join(', ')}: ${reason}`)
}
