import {expect, test} from 'vitest'
import {API_SERVER_PARTS} from '../bed/index.ts'
import {describeWithParts} from '../bed/suite.ts'
import {propertySeed} from '../../support/property-seed.ts'
import {judgeFlat} from './flat.ts'
import {soak} from './soak.ts'

/**
 * Beside test/cluster/soak, which has every part in pods: here the controller alone is behind a relay that loses its
 * bytes, with an API server that really forgets (etcd compacted while nobody looks), and everything is compared byte by
 * byte. SRCIP_SOAK_SECONDS makes it longer; the slowest way back may make the last step longer still.
 */
const seconds = Number(process.env['SRCIP_SOAK_SECONDS'] ?? 60)

await describeWithParts('soak of srcip run', [...API_SERVER_PARTS, 'coredns-1.14.7'], (parts) => {
  test(
    `${seconds} s of random faults: no name lost or kept, no foreign byte changed, no connection corrupted`,
    {timeout: (seconds + 900) * 1000},
    async () => {
      const report = await soak({
        seed: propertySeed,
        seconds,
        coredns: parts['coredns-1.14.7'],
        say: (line) => console.log(`soak ${line}`),
      })
      console.log(
        `soak SRCIP_SEED=${propertySeed}: ${report.steps} steps, ${report.writes} writes, ` +
          `slowest way back ${report.slowestSeconds.toFixed(1)} s`,
      )
      expect(report.steps).toBeGreaterThan(1)
      expect(judgeFlat('memory in MB', report.memory, {factor: 1.25, more: 20})).toBe('')
      expect(judgeFlat('handles', report.handles, {factor: 1, more: 12})).toBe('')
    },
  )
})
