import {field, record, text} from '../../model/fields.ts'
import {shared} from '../../platforms/sources.ts'
import {advice, type Check} from './check.ts'

export const masqueradeAll: Check = {
  id: 'SRC035',
  name: 'masquerade-all',
  severity: 'warning',
  means:
    'kube-proxy masquerades every connection to a ClusterIP: callers inside the cluster show as nodes behind every Service.',
  act: 'Set iptables.masqueradeAll to false where applications need the addresses of their callers.',
  sources: [shared.kubeProxy],
  run: ({cluster}) => {
    const config = text(
      field(record(cluster.index.get('ConfigMap', 'kube-system', 'kube-proxy')?.['data']), 'config.conf'),
    )
    if (!/\bmasqueradeAll:\s*true/.test(config ?? '')) return []
    const object = 'configmap/kube-system/kube-proxy'
    return [
      {
        title: 'masqueradeAll: callers inside the cluster show as nodes behind every ClusterIP',
        object,
        evidence: [{object, field: 'data["config.conf"]', value: 'iptables.masqueradeAll: true'}],
        remedies: [
          advice(
            'masquerade-off',
            2,
            'iptables.masqueradeAll: false, and restart kube-proxy',
            'pod addresses are then kept',
          ),
        ],
      },
    ]
  },
}
