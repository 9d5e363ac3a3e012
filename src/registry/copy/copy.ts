import {combineExitCodes} from '../../model/errors.ts'
import {Gate} from '../http/gate.ts'
import {copyItem, type CopyItem, type CopyOptions, type ItemResult} from './item.ts'
import type {CopyRun} from './run.ts'

/** Items whose graphs are in memory at once. */
const itemsAtOnce = 24

export interface CopyReport {
  readonly items: readonly ItemResult[]
  /** design.md 4: the first of 22, 33, 31, 32, 30, 21, 23 that some item ends with; 23 when only extras were left out. */
  readonly exitCode: number
  readonly changed: boolean
}

/** Copies all items over one pool of connections and one set of lanes. An item that fails leaves the others alone. */
export async function copyItems(run: CopyRun, items: readonly CopyItem[], options: CopyOptions): Promise<CopyReport> {
  const places = new Gate(itemsAtOnce)
  const results = await Promise.all(
    items.map(async (item) => {
      const waiting = places.enter()
      if (waiting !== undefined) await waiting
      try {
        return await copyItem(run, item, options)
      } finally {
        places.leave()
      }
    }),
  )
  return {
    items: results,
    exitCode: combineExitCodes(results.flatMap(codesOf)),
    changed:
      results.some(({status}) => status === 'copied') ||
      (run.counts.blobsMoved + run.counts.blobsMounted > 0 && !run.dryRun),
  }
}

function codesOf(result: ItemResult): number[] {
  const partial = result.skippedExtras.length > 0 ? [23] : []
  return result.error === undefined ? partial : [result.error.exitCode, ...partial]
}
