import {advice, type Check} from './check.ts'
import {eachService} from './of-ways.ts'

export const nothingToDo: Check = {
  id: 'SRC090',
  name: 'nothing-to-do',
  severity: 'info',
  means:
    'The client address arrives on every port of this Service, and pods can call its names: nothing has to be done, and no hairpin fix is needed.',
  act: 'Nothing.',
  sources: [],
  run: (diagnosis) =>
    eachService(diagnosis, (_way, all) => {
      const well = all.every(
        ({outside, hairpin}) => outside.verdict === 'fine' && ['fine', 'not-needed'].includes(hairpin.verdict),
      )
      if (!well) return undefined
      return {
        title: all[0]?.outside.why ?? 'the client address arrives',
        remedies: [advice('nothing', 0, 'nothing to do', all[0]?.hairpin.why ?? 'pods get in as they are')],
      }
    }),
}
