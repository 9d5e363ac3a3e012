import {spawnSync} from 'node:child_process'
import {fileURLToPath} from 'node:url'
import {interleave, timed, type Bench, type BenchRow} from './bench.ts'

const entry = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
const corefile = '.:53 {\n    kubernetes cluster.local\n    forward . 192.0.2.53\n    reload\n}\n'

const works: readonly {work: string; argv: readonly string[]; goal: string; input?: string}[] = [
  {work: 'srcip --version', argv: ['--version'], goal: 'at most 2 x node -e 0'},
  {work: 'srcip --help', argv: ['--help'], goal: 'at most 2.4 x'},
  {work: 'completion of "coredns "', argv: ['__complete', 'coredns', ''], goal: 'at most 1.6 x'},
  {work: 'srcip version -o json', argv: ['version', '-o', 'json'], goal: 'at most 5 x'},
  {work: 'srcip coredns show -f -', argv: ['coredns', 'show', '-f', '-'], goal: 'at most 5 x', input: corefile},
]

/** Process start to exit; the peer is the same Node with nothing to do. */
export const bench: Bench = {
  title: 'Start-up against `node -e 0`',
  async run(progress) {
    const run = (argv: readonly string[], input = '') =>
      timed(() => {
        const {status, stderr} = spawnSync(process.execPath, argv, {input, encoding: 'utf8'})
        if (status !== 0) throw new Error(`${argv.join(' ')} ended with ${status}: ${stderr}`)
      })
    const rows: BenchRow[] = []
    for (const {work, argv, goal, input} of works) {
      progress(work)
      await run([entry, ...argv], input) // fills the compile cache, as the second call of any user finds it
      const {ours, peer, ratio} = await interleave(
        15,
        () => run([entry, ...argv], input),
        () => run(['-e', '0']),
      )
      rows.push({work, ours: `${ours.toFixed(0)} ms`, peer: `${peer.toFixed(0)} ms`, ratio, goal})
    }
    return rows
  },
}
