import {expect, test} from 'vitest'
import {propertySeed} from '../../support/property-seed.ts'
import {BED_PARTS, bedForSuite, describeWithParts} from '../bed/index.ts'
import {faults} from './faults.ts'
import {soak} from './soak.ts'

/** Two minutes in CI; `npm run soak` takes ten. SRCIP_SOAK_SECONDS and SRCIP_SEED lengthen or replay. */
const seconds = Number(process.env['SRCIP_SOAK_SECONDS'] ?? 120)

await describeWithParts('soak', BED_PARTS, async () => {
  const current = await bedForSuite()

  test(`${seconds} s of random faults (SRCIP_SEED=${propertySeed})`, {timeout: (seconds + 900) * 1000}, async () => {
    const result = await soak(current(), {seconds, seed: propertySeed, say: (line) => console.log(`soak: ${line}`)})
    console.log(`soak: seed ${propertySeed} ${JSON.stringify(result)}`)
    expect(result.steps).toBeGreaterThan(1)
    if (seconds >= 600) expect(Object.keys(result.faults)).toHaveLength(faults.length)
  })
})
