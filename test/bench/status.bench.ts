import {proxyObjects, rights, runObjects} from '../../scripts/demo/product-objects.ts'
import {applicationObjects, BED_PARTS, ingressFor, partPaths, start, until} from '../cluster/bed/index.ts'
import {interleave, type Bench, type BenchRow} from './bench.ts'

const rounds = 7

/** `status` with everything on, against the cheapest question that kubectl can ask of the same API. */
export const bench: Bench = {
  title: 'status against `kubectl get ingress -A`, both through a real kubectl',
  async run(progress): Promise<readonly BenchRow[]> {
    const parts = await partPaths(BED_PARTS)
    const goal = 'at most 4'
    if ('missing' in parts)
      return [{work: 'wall time', ours: '-', peer: `missing: ${String(parts.missing)}`, ratio: undefined, goal}]
    progress('starts the bed')
    const bed = await start()
    try {
      for (const name of ['shop', 'srcip']) await bed.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name}})
      await bed.create(...applicationObjects('shop', 'shop'), ingressFor('shop', 'shop', 'shop.example.org', 'shop'))
      for (const object of [...rights(), ...proxyObjects(), ...runObjects()]) await bed.api.apply(object)
      await bed.waitReady('srcip')
      const status = () => bed.cli(['kubectl', 'srcip', 'status'])
      await until('status answers', 60, async () => (await status()).code === 0)
      progress(`${rounds} rounds of each, in turn`)
      const time = await interleave(
        rounds,
        async () => (await status()).seconds * 1000,
        async () => (await bed.cli(['kubectl', 'get', 'ingress', '-A'])).seconds * 1000,
      )
      const [ours, peer] = [time.ours, time.peer].map((ms) => `${ms.toFixed(0)} ms`)
      return [{work: 'wall time', ours: ours!, peer: peer!, ratio: time.ratio, goal}]
    } finally {
      await bed.stop()
    }
  },
}
