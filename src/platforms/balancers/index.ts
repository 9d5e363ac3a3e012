import {bigClouds} from './big-clouds.ts'
import {clouds} from './clouds.ts'
import {onPremises} from './on-premises.ts'
import type {BalancerRow} from './row.ts'

/** Every balancer that is known; order plays no part. */
export const balancerRows: readonly BalancerRow[] = [...bigClouds, ...clouds, ...onPremises]

/** One row by its id. */
export function balancerRow(id: string): BalancerRow | undefined {
  return balancerRows.find((row) => row.id === id)
}
