import {isSending} from '../path/facts.ts'
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
      if (row === undefined) {
        if (!isSending(facts.sender) || facts.receiver.contradiction.length > 0 || facts.noEndpoints) return undefined
        return {
          title: 'what stands behind this Service is not known here, and the balancer sends it a PROXY header',
          evidence: facts.receiver.runners.slice(0, 3).map((runner) => ({
            object: runner.object,
            field: 'spec.containers[].image',
            value: runner.spec.containers.map(({image}) => image).join(', '),
          })),
          remedies: ask('the configuration of the application, or one connection and its log'),
        }
      }
      if (row.setting.value.kind !== 'unknown') return undefined
      return {
        title: `how ${row.title} is switched to PROXY is not confirmed`,
        evidence: clues.map(({object, field, value}) => ({object, field, value})),
        remedies: ask(row.setting.check),
      }
    }),
}
