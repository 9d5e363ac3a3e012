import {ask} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const outsideOpen: Check = {
  id: 'SRC002',
  name: 'outside-open',
  severity: 'warning',
  means:
    'Whether the client address arrives cannot be told from what was read: a setting lies outside of the cluster, a statement is not confirmed, or something was not readable.',
  act: 'Make the named check, or prove it: `kubectl srcip verify outside`.',
  sources: [],
  run: (diagnosis) =>
    eachWay(diagnosis, ({facts, outside}) =>
      (outside.verdict !== 'depends' && outside.verdict !== 'unknown') || outside.cause === 'sender-unseen'
        ? undefined
        : {title: outside.why, evidence: evidenceOf(facts), remedies: ask(outside.check)},
    ),
}
