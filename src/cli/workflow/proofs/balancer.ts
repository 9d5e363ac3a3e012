import {readIngressLog} from '../../../diagnosis/evidence/ingress-log.ts'
import type {BalancerProof} from '../../../model/proofs.ts'
import type {ProofAnswer} from '../../../workflows/engine/ports.ts'
import {askFromHere, isServed} from './answers.ts'
import type {ProofContext} from './index.ts'
import {livePods, receiverMode, type ReceiverMode} from './receiver.ts'

/**
 * What does the balancer send? Nobody can look at its wire, but what a receiver makes of its connections tells: one that reads no
 * header answers a header with 400, one that demands it cuts plain connections. Both mistakes look alike from outside, so the
 * receiver itself is asked first. The version stands in the receiver's log only.
 */
export async function readBalancer(context: ProofContext, proof: BalancerProof): Promise<ProofAnswer> {
  const {client, signal} = context
  const pods = await livePods(client, proof.namespace, proof.selector, signal)
  const [pod] = pods
  if (pod === undefined) return {holds: 'unknown', evidence: [`${proof.title}: no pod of the receiver is running`]}
  const evidence: string[] = []
  for (const port of proof.ports) {
    // the balancer's port is not the pod's: the receiver is asked on the port that the probe order names for it
    const receiver = {...port, port: port.podPort ?? port.port}
    const {mode} = await receiverMode(client, {namespace: proof.namespace, name: pod}, receiver, signal)
    for (const address of proof.addresses) {
      const reply = await askFromHere(address, port, signal)
      const sends = isUnreachable(reply) ? 'unknown' : sentTo(mode, isServed(reply))
      const text = `${address} port ${port.port}: the balancer sends ${words[sends]} (receiver: header ${mode})`
      if (sends === 'unknown') return {holds: 'unknown', evidence: [text]}
      if ((sends === 'plain') !== (proof.sends === 'plain')) return {holds: 'no', evidence: [text]}
      evidence.push(text)
    }
  }
  if (proof.sends === 'v1' || proof.sends === 'v2') {
    const seen = await versionsSeen(context, proof, pods)
    const other = proof.sends === 'v1' ? 'proxy-v2' : 'proxy-v1'
    if (seen.has(other))
      return {
        holds: 'no',
        never: true,
        evidence: [`the balancer sends ${other.slice(6)}, this order needs ${proof.sends}`],
      }
    if (!seen.has(`proxy-${proof.sends}`))
      return {holds: 'unknown', evidence: [...evidence, `no log line of the receiver shows version ${proof.sends} yet`]}
    evidence.push(`the receiver's log shows ${proof.sends}`)
  }
  return {holds: 'yes', evidence}
}

type Sends = 'header' | 'plain' | 'unknown'

const words: Readonly<Record<Sends, string>> = {
  header: 'a PROXY header',
  plain: 'no PROXY header',
  unknown: 'something that cannot be told from here',
}

/** Of a receiver that takes both nothing can be said. Pure. */
export function sentTo(mode: ReceiverMode, served: boolean): Sends {
  if (mode === 'refused') return served ? 'plain' : 'header'
  if (mode === 'required') return served ? 'header' : 'plain'
  return 'unknown'
}

function isUnreachable(reply: Awaited<ReturnType<typeof askFromHere>>): boolean {
  return reply.kind === 'failure' && reply.stage === 'connect'
}

async function versionsSeen(
  {client, memory, signal}: ProofContext,
  proof: BalancerProof,
  pods: readonly string[],
): Promise<Set<string>> {
  const since = memory.since.get('balancer') ?? memory.now()
  memory.since.set('balancer', since)
  const sinceSeconds = Math.ceil((memory.now() - since) / 1000) + 10
  const seen = new Set<string>()
  for (const name of pods) {
    const text = await client.logs({namespace: proof.namespace, name}, {sinceSeconds, tailLines: 5000, signal})
    for (const {kind, first} of readIngressLog(text))
      if (kind === 'header-found' && first !== undefined) seen.add(first)
  }
  return seen
}
