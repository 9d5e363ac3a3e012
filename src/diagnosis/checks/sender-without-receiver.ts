import {shared} from '../../platforms/sources.ts'
import {forOutside} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const senderWithoutReceiver: Check = {
  id: 'SRC006',
  name: 'sender-without-receiver',
  cures: true,
  severity: 'error',
  means:
    'The balancer writes a PROXY header and the receiver does not read it: plain HTTP is answered with 400, TLS fails.',
  act: 'Switch the receiver on (with its list of trusted senders), or the sender off.',
  sources: [shared.proxyProtocol],
  run: (diagnosis) =>
    eachWay(diagnosis, (way) =>
      way.outside.cause === 'sender-without-receiver' || way.outside.cause === 'header-version'
        ? {
            title: way.outside.why,
            severity: way.outside.verdict === 'depends' ? 'warning' : 'error',
            evidence: evidenceOf(way.facts),
            remedies: forOutside(way),
          }
        : undefined,
    ),
}
