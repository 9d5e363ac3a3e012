import {readFileSync} from 'node:fs'
import {expect, test} from 'vitest'
import {describeWithParts} from '../bed/index.ts'
import {chartObjects} from './chart-objects.ts'

await describeWithParts('the objects that enable applies', ['helm'], (parts) => {
  test('charts/objects.json is what the chart renders (node scripts/chart-objects.ts writes it)', async () => {
    const text = readFileSync(new URL('../../../charts/objects.json', import.meta.url), 'utf8')
    expect(text).toBe(await chartObjects(parts.helm))
  })
})
