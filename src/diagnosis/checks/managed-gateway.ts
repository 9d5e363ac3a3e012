import {field, record, text} from '../../model/fields.ts'
import {ask} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'

/** GatewayClass controllers whose data path lies outside of the cluster. */
const managed = [
  'networking.gke.io/',
  'gateway.k8s.aws/',
  'alb.networking.azure.io/',
  'application-networking.k8s.aws/',
]

export const managedGateway: Check = {
  id: 'SRC030',
  name: 'managed-gateway',
  severity: 'warning',
  means:
    'This Gateway is served by a balancer of the cloud, outside of the cluster: nothing here shows what it does with addresses.',
  act: "An HTTP balancer writes X-Forwarded-For; trust it from the balancer's ranges only. See the provider's documentation.",
  sources: [],
  run: ({cluster}) =>
    cluster.index.list('Gateway', 'gateway.networking.k8s.io').flatMap((gateway) => {
      const className = text(field(record(gateway['spec']), 'gatewayClassName')) ?? ''
      const object = cluster.index.get('GatewayClass', undefined, className)
      const controller = text(field(record(object?.['spec']), 'controllerName')) ?? ''
      if (!managed.some((start) => controller.startsWith(start))) return []
      return [
        {
          title: `Gateway of class ${className} is served outside of the cluster by ${controller}`,
          object: `gateway/${gateway.metadata.namespace ?? 'default'}/${gateway.metadata.name}`,
          evidence: [{object: `gatewayclass/${className}`, field: 'spec.controllerName', value: controller}],
          remedies: ask('a request from a known address, and X-Forwarded-For at the application'),
        },
      ]
    }),
}
