import {parseCorefile, planEdit, type WantedHost} from '../../plugins/coredns/src/index.ts'
import {median, timed, type Bench, type BenchRow} from './bench.ts'

const kubeadm = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
`
const target = 'srcip-proxy.srcip.svc.cluster.local.'

/** `count` names spread over `parents` parent domains, as clusters with one or with many customers have them. */
export function wantedHosts(count: number, parents: number): WantedHost[] {
  return Array.from({length: count}, (_, index) => ({
    name: parents >= count ? `shop.tenant-${index}.example.org` : `app-${index}.tenant-${index % parents}.example.org`,
    kind: 'exact' as const,
    target,
  }))
}

export const encoder = new TextEncoder()
export const corefileBytes = encoder.encode(kubeadm)

async function medianOf(rounds: number, work: () => unknown): Promise<number> {
  const values: number[] = []
  for (let round = 0; round < rounds; round++) values.push(await timed(work))
  return median(values)
}

/** Parse and plan are ours alone, so the peer is the plainest thing that touches the same bytes: JSON.parse of as much text. */
export const bench: Bench = {
  title: 'Corefile: parse and plan',
  async run(progress) {
    const rows: BenchRow[] = []
    const big = encoder.encode(
      `.:53 {\n${wantedHosts(10_000, 40)
        .map(({name}) => `    rewrite name exact ${name} ${target}\n`)
        .join('')}    kubernetes cluster.local\n    reload\n}\n`,
    )
    const json = JSON.stringify(wantedHosts(10_000, 40).map(({name}) => ['rewrite', 'name', 'exact', name, target]))
    const jsonMs = await medianOf(9, () => JSON.parse(json))
    progress(`parse of ${(big.length / 1e6).toFixed(2)} MB`)
    const parseMs = await medianOf(9, () => parseCorefile(big))
    rows.push({
      work: `parse ${(big.length / 1e6).toFixed(2)} MB (10,000 lines)`,
      ours: `${parseMs.toFixed(1)} ms, ${(big.length / 1e3 / parseMs).toFixed(0)} MB/s`,
      peer: `JSON.parse of the same words ${jsonMs.toFixed(1)} ms`,
      ratio: parseMs / jsonMs,
      goal: 'lexer above 20 MB/s',
    })
    for (const parents of [1, 40, 10_000]) {
      progress(`plan of 10,000 hosts, ${parents} parents`)
      const hosts = wantedHosts(10_000, parents)
      const ms = await medianOf(5, () => {
        const plan = planEdit({corefile: corefileBytes, hosts})
        if (plan.taken.length !== hosts.length) throw new Error(`only ${plan.taken.length} hosts were taken`)
      })
      rows.push({
        work: `parse + plan 10,000 hosts, ${parents} parents`,
        ours: `${ms.toFixed(0)} ms`,
        peer: `JSON.parse ${jsonMs.toFixed(1)} ms`,
        ratio: ms / jsonMs,
        goal: 'below 200 ms',
      })
    }
    return rows
  },
}
