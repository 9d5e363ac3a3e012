import {ask} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachService, statusEvidence} from './of-ways.ts'

export const unknownBalancer: Check = {
  id: 'SRC012',
  name: 'unknown-balancer',
  severity: 'warning',
  means:
    'Who made the address of this Service cannot be told, so neither its switch for PROXY nor what it does with addresses is known.',
  act: 'Read its documentation for PROXY and client addresses; `verify outside` shows what arrives.',
  sources: [],
  run: (diagnosis) =>
    eachService(diagnosis, (way, all) => {
      const {facts} = way
      if (facts.door !== 'balancer' || facts.balancer.row !== undefined) return undefined
      if (facts.entries.length === 0 || facts.balancer.contradiction.length > 0) return undefined
      // where the address is lost behind it anyway, it does not matter who it is
      if (all.every(({outside}) => outside.verdict === 'broken')) return undefined
      return {
        title: 'which balancer feeds this Service cannot be told',
        evidence: statusEvidence(facts),
        remedies: ask('kubectl describe service: which controller writes its events'),
      }
    }),
}
