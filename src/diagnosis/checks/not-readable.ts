import {resourceOf} from '../readings.ts'
import {advice, type Check} from './check.ts'

export const notReadable: Check = {
  id: 'SRC045',
  name: 'not-readable',
  severity: 'warning',
  means:
    'Something may not be read, or did not answer: what would be seen there is unknown, and verdicts that need it are open.',
  act: 'Look again with the named right (docs/rights.md), or send a snapshot that somebody with the right has taken.',
  sources: [],
  run: ({cluster}) => {
    const missing = cluster.index.snapshot.readings.filter(({state}) =>
      ['denied', 'unreachable', 'partial'].includes(state),
    )
    if (missing.length === 0) return []
    const names = [...new Set(missing.map((reading) => `${reading.verb} ${resourceOf(reading)}`))]
    const shown = names.length > 6 ? `${names.slice(0, 6).join(', ')} and ${names.length - 6} more` : names.join(', ')
    return [
      {
        title: `not everything could be read: ${shown}`,
        object: 'cluster',
        evidence: missing.slice(0, 10).map((reading) => ({
          object: resourceOf(reading),
          field: reading.namespace ?? '(every namespace)',
          value: reading.state,
        })),
        remedies: [
          advice('rights', 1, 'the rights of docs/rights.md, section doctor', 'what is not seen stays unknown'),
        ],
      },
    ]
  },
}
