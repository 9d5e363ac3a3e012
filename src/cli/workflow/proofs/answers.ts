import type {OutsideProof, ReceiverPort, ThroughProxyProof} from '../../../model/proofs.ts'
import {ask, askAddress, type Question, type Reply} from '../../../verify/index.ts'
import type {ProofAnswer} from '../../../workflows/engine/ports.ts'
import type {ProofContext} from './index.ts'
import {livePods} from './receiver.ts'

/** Milliseconds for one answer. */
const answerTimeoutMs = 5000

/** Does every address of the balancer lead to an HTTP answer on every port? Certificates are not judged: it is not about trust. */
export async function readOutside({signal}: ProofContext, proof: OutsideProof): Promise<ProofAnswer> {
  const evidence: string[] = []
  for (const address of proof.addresses) {
    for (const port of proof.ports) {
      const reply = await askFromHere(address, port, signal)
      const text = `${address} port ${port.port} (${port.host}): ${replyText(reply)}`
      if (!isServed(reply)) return {holds: 'no', evidence: [text]}
      evidence.push(text)
    }
  }
  return {holds: 'yes', evidence}
}

/** Does a connection through each pod of the proxy get an HTTP answer on every port? */
export async function readThroughProxy(
  {client, signal}: ProofContext,
  {namespace, selector, ports, title}: ThroughProxyProof,
): Promise<ProofAnswer> {
  const pods = await livePods(client, namespace, selector, signal)
  if (pods.length === 0) return {holds: 'unknown', evidence: [`${title}: no pod of the proxy is running`]}
  const evidence: string[] = []
  for (const name of pods) {
    for (const port of ports) {
      const open = () => client.portForward({namespace, name}, port.port, {signal, timeoutMs: answerTimeoutMs})
      const reply = await ask(open, questionFor(port), {insecure: true, timeout: answerTimeoutMs, signal})
      const text = `pod/${namespace}/${name} port ${port.port}: ${replyText(reply)}`
      if (!isServed(reply)) return {holds: 'no', evidence: [text]}
      evidence.push(text)
    }
  }
  return {holds: 'yes', evidence}
}

/** One fresh connection from where we run. */
export async function askFromHere(address: string, port: ReceiverPort, signal: AbortSignal): Promise<Reply> {
  return await askAddress(address, questionFor(port), {insecure: true, timeout: answerTimeoutMs, signal})
}

function questionFor({port, tls, host}: ReceiverPort): Question {
  return {secure: tls, host, port, path: '/', headers: {'user-agent': 'kubectl-srcip-probe'}}
}

/** 400 is what a receiver says that took a PROXY header for a request, or a request for something else. */
export function isServed(reply: Reply): boolean {
  return reply.kind === 'answer' && reply.status !== 400
}

function replyText(reply: Reply): string {
  return reply.kind === 'answer' ? `HTTP ${reply.status}` : `${reply.stage}: ${reply.reason}`
}
