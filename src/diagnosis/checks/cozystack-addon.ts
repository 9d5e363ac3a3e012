import {field, record} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {Diagnosis} from '../judged-way.ts'
import {advice, type Check, type Draft} from './check.ts'

export const cozystackAddon: Check = {
  id: 'SRC060',
  name: 'cozystack-addon',
  cures: true,
  severity: 'error',
  means:
    "Cozystack's hairpin add-on (ouroboros) is on while the ingress does not ask for PROXY: pods are led to a proxy whose header the ingress takes for a request.",
  act: 'Switch the ingress on too, or the add-on off; on a tenant the add-on does not touch nginx.',
  sources: [
    'https://github.com/cozystack/cozystack/blob/3c780acd4/packages/core/platform/templates/bundles/system.yaml',
  ],
  run: (diagnosis) => [...host(diagnosis), ...tenants(diagnosis)],
}

function host(diagnosis: Diagnosis): Draft[] {
  const addon = diagnosis.cluster.index.get('Package', undefined, 'cozystack.ouroboros', 'cozystack.io')
  if (addon === undefined) return []
  const values = record(field(record(field(record(field(record(addon['spec']), 'components')), 'ouroboros')), 'values'))
  const target = record(field(record(field(record(field(values, 'ouroboros')), 'proxy')), 'target'))
  const wanted = [field(target, 'namespace'), field(target, 'serviceName')].join('/')
  const fed = diagnosis.ways.filter(({facts}) => {
    const {namespace = 'default', name} = facts.service.metadata
    if (facts.receiver.row?.id !== 'ingress-nginx') return false
    return wanted === '/' || `${namespace}/${name}` === wanted
  })
  if (fed.length === 0 || fed.some(({facts}) => facts.state?.asks !== 'no')) return []
  const object = 'package/cozystack.ouroboros'
  return [
    {
      title: 'Package cozystack.ouroboros is installed while the ingress does not ask for PROXY',
      object,
      evidence: [{object}, ...fed.slice(0, 1).flatMap(({facts}) => facts.state?.seen ?? [])],
      remedies: [
        advice(
          'receiver-on',
          2,
          'publishing.proxyProtocol: true in the Package cozystack.cozystack-platform, and a balancer that sends',
          'both halves belong together',
        ),
        advice(
          'addon-off',
          2,
          'kubectl delete packages.cozystack.io cozystack.ouroboros, then kubectl srcip coredns clean --owner ouroboros where lines of it are left',
          'listing it in disabledPackages uninstalls nothing',
        ),
      ],
    },
  ]
}

function tenants({cluster}: Diagnosis): Draft[] {
  return cluster.index.list('Kubernetes', 'apps.cozystack.io').flatMap((tenant: KubeObject) => {
    const addons = record(field(record(tenant['spec']), 'addons'))
    if (field(record(field(addons, 'ouroboros')), 'enabled') !== true) return []
    const nginx = record(field(addons, 'ingressNginx'))
    const controller = record(
      field(record(field(record(field(nginx, 'valuesOverride')), 'ingress-nginx')), 'controller'),
    )
    const asks = JSON.stringify(field(record(field(controller, 'config')), 'use-proxy-protocol') ?? false).replaceAll(
      '"',
      '',
    )
    if (asks === 'true') return []
    const object = `kubernetes/${tenant.metadata.namespace ?? 'default'}/${tenant.metadata.name}`
    return [
      {
        title: `tenant ${tenant.metadata.name}: addons.ouroboros is on while its ingress does not ask for PROXY`,
        object,
        evidence: [
          {object, field: 'spec.addons.ouroboros.enabled', value: 'true'},
          {
            object,
            field: 'spec.addons.ingressNginx.valuesOverride.ingress-nginx.controller.config.use-proxy-protocol',
            value: asks,
          },
        ],
        remedies: [
          advice(
            'receiver-on',
            2,
            'use-proxy-protocol: "true" in that valuesOverride, or addons.ouroboros.enabled: false',
            'the add-on does not touch nginx',
          ),
        ],
      },
    ]
  })
}
