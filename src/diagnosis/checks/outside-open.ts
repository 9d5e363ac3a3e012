import {ask, forOutside} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const outsideOpen: Check = {
  id: 'SRC002',
  name: 'outside-open',
  cures: true,
  severity: 'warning',
  means:
    'Whether the client address arrives cannot be told from what was read: a setting lies outside of the cluster, a statement is not confirmed, or something was not readable.',
  act: 'Make the named check, or prove it: `kubectl srcip verify outside`.',
  sources: [],
  run: (diagnosis) =>
    eachWay(diagnosis, (way) => {
      const {facts, outside} = way
      if ((outside.verdict !== 'depends' && outside.verdict !== 'unknown') || outside.cause === 'sender-unseen')
        return undefined
      const remedies = outside.cause === 'trust-family' ? forOutside(way) : ask(outside.check)
      return {title: outside.why, evidence: evidenceOf(facts), remedies}
    }),
}
