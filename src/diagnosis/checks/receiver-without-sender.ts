import {shared} from '../../platforms/sources.ts'
import {forOutside} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const receiverWithoutSender: Check = {
  id: 'SRC005',
  name: 'receiver-without-sender',
  cures: true,
  severity: 'error',
  means:
    'The receiver takes only connections with a PROXY header, and nothing in front of this port writes one: nobody gets in.',
  act: 'Switch the sender on; where it has no such switch, switch the receiver off.',
  sources: [shared.proxyProtocol],
  run: (diagnosis) =>
    eachWay(diagnosis, (way) =>
      way.outside.cause === 'receiver-without-sender'
        ? {title: way.outside.why, evidence: evidenceOf(way.facts), remedies: forOutside(way)}
        : undefined,
    ),
}
