import {ask} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const senderUnseen: Check = {
  id: 'SRC007',
  name: 'sender-unseen',
  cures: true,
  severity: 'warning',
  means: 'The receiver asks for PROXY; whether what stands in front sends it cannot be seen from the cluster.',
  act: "Look into the outer balancer's configuration for send-proxy, or capture one connection (`doctor --capture`).",
  sources: ['https://github.com/haproxy/haproxy/blob/50872daa6/doc/configuration.txt'],
  run: (diagnosis) =>
    eachWay(diagnosis, ({facts, outside}) =>
      outside.cause === 'sender-unseen'
        ? {title: outside.why, evidence: evidenceOf(facts), remedies: ask(outside.check)}
        : undefined,
    ),
}
