import {field, record} from '../../model/fields.ts'
import {advice, type Check} from './check.ts'

export const cozystackProxied: Check = {
  id: 'SRC064',
  name: 'cozystack-proxied',
  severity: 'warning',
  means:
    "A Cozystack tenant's ingress is fed by the ingress of the host (exposeMethod Proxied), which sends no PROXY to passthrough backends nor on HTTP: the tenant sees the host, and PROXY in the tenant would kill port 80 for no gain.",
  act: 'Give the tenant an edge of its own (LoadBalancer), or trust X-Forwarded-For of the host on HTTP.',
  sources: ['https://github.com/cozystack/cozystack/blob/3c780acd4/packages/apps/kubernetes/values.yaml'],
  run: ({cluster}) =>
    cluster.index.list('Kubernetes', 'apps.cozystack.io').flatMap((tenant) => {
      const nginx = record(field(record(field(record(tenant['spec']), 'addons')), 'ingressNginx'))
      if (field(nginx, 'enabled') !== true || field(nginx, 'exposeMethod') !== 'Proxied') return []
      const object = `kubernetes/${tenant.metadata.namespace ?? 'default'}/${tenant.metadata.name}`
      return [
        {
          title: `tenant ${tenant.metadata.name} is fed by the ingress of the host: do not switch PROXY on there`,
          object,
          evidence: [{object, field: 'spec.addons.ingressNginx.exposeMethod', value: 'Proxied'}],
          remedies: [
            advice('other-exposure', 2, 'exposeMethod LoadBalancer', 'the tenant then has a balancer of its own'),
          ],
        },
      ]
    }),
}
