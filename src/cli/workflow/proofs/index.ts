import type {KubeClient} from '../../../kube/index.ts'
import type {Proof} from '../../../model/proofs.ts'
import type {ProofAnswer} from '../../../workflows/engine/ports.ts'
import type {DnsAccess} from '../operations/dns.ts'
import {readBalancer} from './balancer.ts'
import {readDns} from './dns.ts'
import {readHelmRelease} from './helm-release.ts'
import {readDeployment, readFieldProof, readGone, readNoPods} from './objects.ts'
import {readOutside, readThroughProxy} from './answers.ts'
import {readReceiver} from './receiver.ts'

/** What the proofs of one run remember between two questions. */
export interface ProofMemory {
  /** Steps that a person says are done. */
  readonly said: ReadonlySet<string>
  /** When a question was put first; milliseconds of `now`. */
  readonly since: Map<string, number>
  /** Connections to a port that did not count. */
  readonly discarded: Map<string, number>
  readonly now: () => number
}

/** What a reader of proofs works with. */
export interface ProofContext {
  readonly client: KubeClient
  readonly dns: DnsAccess
  readonly memory: ProofMemory
  readonly signal: AbortSignal
}

/** Puts the question of a proof to the cluster, once. */
export async function readProof(context: ProofContext, proof: Proof): Promise<ProofAnswer> {
  switch (proof.proof) {
    case 'field':
      return await readFieldProof(context, proof)
    case 'gone':
      return await readGone(context, proof)
    case 'deployment':
      return await readDeployment(context, proof)
    case 'no-pods':
      return await readNoPods(context, proof)
    case 'dns':
      return await readDns(context, proof)
    case 'receiver':
      return await readReceiver(context, proof)
    case 'outside':
      return await readOutside(context, proof)
    case 'balancer':
      return await readBalancer(context, proof)
    case 'through-proxy':
      return await readThroughProxy(context, proof)
    case 'helm-release':
      return await readHelmRelease(context, proof)
    case 'said':
      return context.memory.said.has(proof.step)
        ? {holds: 'yes', evidence: [`said to be done: --done ${proof.step}`]}
        : {holds: 'no', evidence: [`${proof.title}: say so with --done ${proof.step}`]}
    case 'settle':
      return settled(context, proof.title, proof.seconds)
  }
}

function settled({memory}: ProofContext, title: string, seconds: number): ProofAnswer {
  const since = memory.since.get(title) ?? memory.now()
  memory.since.set(title, since)
  const left = seconds - Math.floor((memory.now() - since) / 1000)
  return left <= 0
    ? {holds: 'yes', evidence: [`waited ${seconds} s`]}
    : {holds: 'no', evidence: [`${title}: ${Math.ceil(left / 10) * 10} s left at most`]}
}
