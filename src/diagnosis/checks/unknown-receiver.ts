import {ask} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachService} from './of-ways.ts'

export const unknownReceiver: Check = {
  id: 'SRC029',
  name: 'unknown-receiver',
  severity: 'warning',
  means: 'How this receiver is switched to PROXY is not confirmed anywhere.',
  act: 'Read the documentation of the version that runs; `verify outside` shows what arrives.',
  sources: ['https://github.com/kgateway-dev/kgateway/pull/11752'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      const {row, clues} = facts.receiver
      if (row?.setting.value.kind !== 'unknown') return undefined
      return {
        title: `how ${row.title} is switched to PROXY is not confirmed`,
        evidence: clues.map(({object, field, value}) => ({object, field, value})),
        remedies: ask(row.setting.check),
      }
    }),
}
