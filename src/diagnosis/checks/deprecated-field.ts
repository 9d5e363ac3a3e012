import {field, record} from '../../model/fields.ts'
import {advice, type Check} from './check.ts'

export const deprecatedField: Check = {
  id: 'SRC027',
  name: 'deprecated-field',
  severity: 'warning',
  means: 'An old field is used: it loses where the new one stands beside it, and goes in a later version.',
  act: 'Write spec.proxyProtocol instead of spec.enableProxyProtocol.',
  sources: ['https://github.com/envoyproxy/gateway/blob/d32f282942/api/v1alpha1/clienttrafficpolicy_types.go'],
  run: ({cluster}) =>
    cluster.index.list('ClientTrafficPolicy').flatMap((policy) => {
      const spec = record(policy['spec'])
      const old = field(spec, 'enableProxyProtocol')
      if (old === undefined) return []
      const object = `clienttrafficpolicy/${policy.metadata.namespace ?? 'default'}/${policy.metadata.name}`
      const both = field(spec, 'proxyProtocol') !== undefined
      return [
        {
          title: both
            ? 'enableProxyProtocol loses to proxyProtocol, which stands beside it'
            : 'enableProxyProtocol is the old field',
          object,
          severity: both ? 'warning' : 'info',
          evidence: [{object, field: 'spec.enableProxyProtocol', value: JSON.stringify(old)}],
          remedies: [
            advice(
              'new-field',
              1,
              'spec.proxyProtocol: {} instead of spec.enableProxyProtocol: true',
              'the same, and it stays',
            ),
          ],
        },
      ]
    }),
}
