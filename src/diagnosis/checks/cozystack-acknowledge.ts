import {field, record} from '../../model/fields.ts'
import {advice, type Check} from './check.ts'

export const cozystackAcknowledge: Check = {
  id: 'SRC061',
  name: 'cozystack-acknowledge',
  severity: 'warning',
  means:
    'publishing.proxyProtocolAcknowledgeUnclean was left true: the guard of Cozystack against switching PROXY off under a running injector is off for good.',
  act: 'Set it false again once the Package cozystack.ouroboros is gone.',
  sources: ['https://github.com/cozystack/cozystack/blob/3c780acd4/packages/core/platform/values.yaml'],
  run: ({cluster}) =>
    cluster.index.list('Package', 'cozystack.io').flatMap((item) => {
      const components = record(field(record(item['spec']), 'components'))
      const publishing = record(field(record(field(record(field(components, 'platform')), 'values')), 'publishing'))
      const value = field(publishing, 'proxyProtocolAcknowledgeUnclean')
      // the guard looks at truth as Go templates see it: any text that is not empty counts
      if (value === undefined || value === false || value === '') return []
      const object = `package/${item.metadata.name}`
      return [
        {
          title: 'proxyProtocolAcknowledgeUnclean was left on',
          object,
          evidence: [
            {
              object,
              field: 'spec.components.platform.values.publishing.proxyProtocolAcknowledgeUnclean',
              value: JSON.stringify(value),
            },
          ],
          remedies: [advice('acknowledge-off', 1, 'set it to false', 'the guard then protects the next switch')],
        },
      ]
    }),
}
