/**
 * `npm run demo` after the bootstrap: heals a hairpin on real parts, step by step. Without the parts it shows what needs
 * no cluster, names what is missing and ends with 21. Otherwise 0 only if every step held.
 */
import {BED_PARTS, partPaths} from '../test/cluster/bed/index.ts'
import {healHairpin} from './demo/heal-hairpin.ts'
import {narrator} from './demo/narrator.ts'
import {withoutCluster} from './demo/without-cluster.ts'

const tell = narrator()
const parts = await partPaths(BED_PARTS)
try {
  if ('missing' in parts) {
    tell.note(`The cluster part of the demo cannot run, missing: ${parts.missing}`)
    await withoutCluster(tell)
    tell.verdict(`the part without a cluster held; missing for the rest: ${parts.missing}`)
    process.exitCode = 21
  } else {
    await healHairpin(tell)
    tell.verdict('all five steps held')
  }
} catch (error) {
  tell.verdict(`FAILED in "${tell.current()}": ${(error as Error).message}`)
  process.exitCode = 1
}
