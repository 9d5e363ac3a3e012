import {execFile, spawn} from 'node:child_process'
import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {promisify} from 'node:util'
import {planEdit} from '../../plugins/coredns/src/index.ts'
import {requirePart} from '../cluster/bed/index.ts'
import {wantedHosts} from './corefile.bench.ts'
import {median, type Bench, type BenchRow} from './bench.ts'

const run = promisify(execFile)
const port = 15_353
const seconds = 2
const rounds = 3

/** A server that answers every cluster name at once, so that what is measured is the cost of the rules in front of it. */
const corefile = (rules: string) => `.:${port} {
    bind 127.0.0.1
${rules}    template IN A cluster.local {
        answer "{{ .Name }} 5 IN A 10.96.7.7"
    }
    reload
}
`

/** The rules as we write them: planned for this very file, markers included. */
function ourForm(count: number, parents: number): string {
  const {files, taken, refusal} = planEdit({
    corefile: new TextEncoder().encode(corefile('')),
    hosts: wantedHosts(count, parents),
    clusterDomain: 'cluster.local',
    dnsPort: String(port),
    // This bed answers cluster names from a template: the longest zone match is enough to choose the block.
  })
  if (refusal !== undefined || taken.length !== count)
    throw new Error(`${taken.length} of ${count} hosts taken: ${refusal?.reason ?? 'some refused'}`)
  return count === 0 ? corefile('') : new TextDecoder().decode(files[0]!.after)
}

function lineForEach(count: number, parents: number): string {
  return corefile(
    wantedHosts(count, parents)
      .map(({name, target}) => `    rewrite name exact ${name} ${target}\n`)
      .join(''),
  )
}

/** Answers a second for a cluster name, which every rule is tried on, over four connections on loopback. */
async function answersPerSecond(folder: string, binary: string, text: string): Promise<number> {
  const file = join(folder, 'Corefile')
  const queries = join(folder, 'queries')
  await writeFile(file, text)
  await writeFile(queries, 'web.shop.svc.cluster.local A\n')
  const server = spawn(binary, ['-conf', file, '-quiet'], {stdio: 'ignore'})
  try {
    const dnsperf = (duration: number) =>
      run('dnsperf', [
        '-s',
        '127.0.0.1',
        '-p',
        String(port),
        '-d',
        queries,
        '-l',
        String(duration),
        '-c',
        '4',
        '-q',
        '40',
      ])
    for (let attempt = 0; ; attempt++) {
      const {stdout} = await dnsperf(0.5).catch(() => ({stdout: ''}))
      if (/NOERROR [1-9]/.test(stdout)) break
      if (attempt > 20) throw new Error('CoreDNS does not answer')
    }
    const {stdout} = await dnsperf(seconds)
    const rate = /Queries per second:\s+([\d.]+)/.exec(stdout)?.[1]
    if (rate === undefined || !/NOERROR \d+ \(100\.00%\)/.test(stdout))
      throw new Error(`not every query was answered:\n${stdout}`)
    return Number(rate)
  } finally {
    const gone = new Promise((resolve) => server.once('exit', resolve))
    server.kill('SIGKILL')
    await gone
  }
}

export const bench: Bench = {
  title: 'DNS answers of CoreDNS 1.14.7 behind our rules, against one line a host',
  async run(progress) {
    const binary = await requirePart('coredns-1.14.7')
    const folder = await mkdtemp(join(tmpdir(), 'srcip-dns-bench-'))
    const rows: BenchRow[] = []
    try {
      for (const [count, parents] of [
        [0, 1],
        [100, 40],
        [1000, 40],
        [10_000, 1],
        [10_000, 40],
        [10_000, 10_000],
      ] as const) {
        progress(`${count} hosts, ${parents} parents`)
        const texts = {none: corefile(''), ours: ourForm(count, parents), peer: lineForEach(count, parents)}
        const rates = {none: [] as number[], ours: [] as number[], peer: [] as number[]}
        for (let round = 0; round < rounds; round++) {
          for (const kind of ['none', 'ours', 'peer'] as const)
            rates[kind].push(await answersPerSecond(folder, binary, texts[kind]))
        }
        const [none, ours, peer] = [median(rates.none), median(rates.ours), median(rates.peer)]
        rows.push({
          work: `${count} hosts, ${parents} parents`,
          ours: `${ours.toFixed(0)}/s (${((100 * ours) / none).toFixed(0)} % of no rule: ${none.toFixed(0)}/s)`,
          peer: `one line a host ${peer.toFixed(0)}/s`,
          ratio: ours / peer,
          goal: count === 10_000 ? 'at least 85 % of no rule, 20 x one line a host' : '',
        })
      }
      return rows
    } finally {
      await rm(folder, {recursive: true, force: true})
    }
  },
}
