import {field, record, text} from '../../model/fields.ts'
import {records} from '../../platforms/workloads.ts'
import {advice, type Check} from './check.ts'

export const proxyPorts: Check = {
  id: 'SRC054',
  name: 'proxy-ports',
  severity: 'warning',
  means:
    'A proxy Service against the hairpin lacks TCP ports that the ingress Service it feeds has: names that lead to the proxy are dead on these ports for pods.',
  act: 'Add the ports to the proxy (values.paths[].ports of the chart).',
  sources: [],
  run: ({cluster}) =>
    cluster.index.list('Service', '').flatMap((proxy) => {
      const feeds = proxy.metadata.annotations?.['srcip.dev/feeds']
      if (feeds === undefined || proxy.metadata.labels?.['srcip.dev/component'] !== 'proxy') return []
      const [namespace, name] = feeds.split('/')
      const ingress = cluster.index.get('Service', namespace, name ?? '', '')
      if (ingress === undefined) return []
      const own = tcpPorts(proxy)
      const missing = tcpPorts(ingress).filter((port) => !own.includes(port))
      if (missing.length === 0) return []
      const object = `service/${proxy.metadata.namespace ?? 'default'}/${proxy.metadata.name}`
      return [
        {
          title: `the proxy lacks ${missing.length === 1 ? 'port' : 'ports'} ${missing.join(', ')} of ${feeds}`,
          object,
          evidence: [
            {object, field: 'spec.ports', value: own.join(', ')},
            {object: `service/${feeds}`, field: 'spec.ports', value: tcpPorts(ingress).join(', ')},
          ],
          remedies: [
            advice(
              'proxy-ports',
              1,
              `add ${missing.join(', ')} to the proxy`,
              'calls from inside reach the same ports as those from outside',
            ),
          ],
        },
      ]
    }),
}

function tcpPorts(service: {readonly [field: string]: unknown}): number[] {
  return records(field(record(service['spec']), 'ports'))
    .filter((entry) => (text(field(entry, 'protocol')) ?? 'TCP') === 'TCP')
    .flatMap((entry) => (typeof field(entry, 'port') === 'number' ? [Number(field(entry, 'port'))] : []))
}
