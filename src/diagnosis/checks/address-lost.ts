import {shared} from '../../platforms/sources.ts'
import {forOutside} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const addressLost: Check = {
  id: 'SRC001',
  name: 'address-lost',
  cures: true,
  severity: 'error',
  means:
    "The application does not see the client's address on this way in, or not on all connections: a hop on the way translates it and nothing carries it past.",
  act: 'Take the first remedy that fits. A field of the Service costs least; PROXY on both sides works past every translation.',
  sources: [shared.kubeProxy, shared.virtualIps],
  run: (diagnosis) =>
    eachWay(diagnosis, (way) => {
      const {facts, outside} = way
      if ((outside.verdict !== 'broken' && outside.verdict !== 'half-broken') || outside.cause !== undefined)
        return undefined
      return {title: outside.why, evidence: evidenceOf(facts), remedies: forOutside(way)}
    }),
}
