import {field, record, text} from '../../model/fields.ts'
import type {ClusterView} from '../cluster-view.ts'
import {configOf, type ReadConfig} from '../../platforms/receivers/config-map-reader.ts'
import {runsAs} from '../../platforms/receivers/recognise.ts'
import {selects, type Runner} from '../../platforms/workloads.ts'
import {forOutside} from '../remedies/for-outside.ts'
import type {Diagnosis} from '../judged-way.ts'
import {advice, type Check, type Draft} from './check.ts'
import {eachService, eachWay, evidenceOf} from './of-ways.ts'

export const settingNotEffective: Check = {
  id: 'SRC009',
  name: 'setting-not-effective',
  cures: true,
  severity: 'warning',
  means:
    'A setting is written and does nothing: its object was not accepted, or another setting that it needs is missing.',
  act: 'Look at the evidence: the status of the object, or the key that must stand beside it.',
  sources: [
    'https://github.com/cilium/cilium/blob/011b49409877295e4f48ed9438a6a4a6e769d2f3/Documentation/network/kubernetes/kubeproxy-free.rst',
    'https://github.com/caddyserver/ingress/blob/0e3de1e/internal/caddy/global/configmap.go',
  ],
  run: (diagnosis) => [
    ...refusedPolicies(diagnosis),
    ...lookAlikes(diagnosis),
    ...thrownAway(diagnosis),
    ...ciliumModes(diagnosis),
  ],
}

function refusedPolicies(diagnosis: Diagnosis): Draft[] {
  return eachWay(diagnosis, ({facts}) => {
    const refused = facts.state?.seen.find(({value}) => value === 'Accepted is False')
    return refused === undefined
      ? undefined
      : {
          title: `${refused.object} was not accepted and has no effect`,
          evidence: [refused],
          remedies: [
            advice('look', 0, `kubectl describe ${refused.object.replace('/', ' ')}`, 'its conditions say why'),
          ],
        }
  })
}

function thrownAway(diagnosis: Diagnosis): Draft[] {
  return eachWay(diagnosis, (way) =>
    way.outside.cause === 'header-thrown-away' && way.facts.receiver.row?.id === 'caddy'
      ? {title: way.outside.why, severity: 'error', evidence: evidenceOf(way.facts), remedies: forOutside(way)}
      : undefined,
  )
}

/** Direct server return that Cilium cannot do, or that one Service asks for unheard. */
function ciliumModes(diagnosis: Diagnosis): Draft[] {
  const {plane, index} = diagnosis.cluster
  if (plane.proxy !== 'cilium') return []
  const object = 'configmap/kube-system/cilium-config'
  const data = record(index.get('ConfigMap', 'kube-system', 'cilium-config')?.['data'])
  const mode = text(field(data, 'bpf-lb-mode')) ?? 'snat'
  const drafts: Draft[] = []
  if (mode !== 'snat' && plane.cluster.value === undefined) {
    drafts.push({
      title: `bpf-lb-mode ${mode} needs native routing or Geneve dispatch: over this tunnel there is no direct server return`,
      object,
      evidence: ['bpf-lb-mode', 'routing-mode', 'tunnel-protocol'].map((key) => ({
        object,
        field: `data.${key}`,
        value: text(field(data, key)) ?? '(not set)',
      })),
      remedies: [
        advice(
          'dsr',
          2,
          'routing-mode native, or tunnel-protocol geneve with bpf-lb-dsr-dispatch geneve',
          'what the mode needs',
        ),
      ],
    })
  }
  const heard = field(data, 'bpf-lb-mode-annotation') === 'true'
  const annotation = 'service.cilium.io/forwarding-mode'
  return [
    ...drafts,
    ...eachService(diagnosis, ({facts}) => {
      const wanted = facts.service.metadata.annotations?.[annotation]
      if (wanted === undefined || heard || wanted === mode) return undefined
      return {
        title: `annotation ${annotation}: ${wanted} does nothing while bpf-lb-mode-annotation is off`,
        evidence: [
          {
            object,
            field: 'data.bpf-lb-mode-annotation',
            value: text(field(data, 'bpf-lb-mode-annotation')) ?? '(not set)',
          },
        ],
        remedies: [
          advice(
            'dsr',
            2,
            'bpf-lb-mode-annotation: "true", and make the Service anew: the mode is fixed when it is made',
            'Cilium then reads the annotation',
          ),
        ],
      }
    }),
  ]
}

/** ConfigMaps with the switch that no controller reads, and arguments that name a ConfigMap which is not there. */
function lookAlikes({cluster}: Diagnosis): Draft[] {
  const {index, runners} = cluster
  const controllers = [...runners.workloads, ...runners.pods].filter((runner) => runsAs(runner, 'ingress-nginx'))
  const read = new Map<string, ReadConfig>()
  for (const runner of controllers) {
    const config = configOf({index, runners: [runner]}, ['--configmap'])
    if (config !== undefined) read.set(`${config.namespace}/${config.name}`, config)
  }
  return [...read].flatMap(([name, config]) => {
    const named = `configmap/${name}`
    const object = serviceOf(cluster, config.namespace, controllers) ?? named
    if (config.object === undefined && config.known)
      return [
        {
          title: `${named}, which --configmap names, does not exist: the controller runs on its defaults`,
          object,
          evidence: [{object: named}],
          remedies: [
            advice('make-config-map', 1, `make ${named}, or name the one that is there`, 'nothing else is read'),
          ],
        },
      ]
    const decoy = index
      .list('ConfigMap', '')
      .find(
        (map) =>
          map.metadata.namespace === config.namespace &&
          !read.has(`${config.namespace}/${map.metadata.name}`) &&
          field(record(map['data']), 'use-proxy-protocol') !== undefined,
      )
    if (decoy === undefined) return []
    const other = `configmap/${config.namespace}/${decoy.metadata.name}`
    return [
      {
        title: `use-proxy-protocol in ${other} does nothing: the controller reads ${named}`,
        object,
        evidence: [
          {
            object: other,
            field: 'data.use-proxy-protocol',
            value: text(field(record(decoy['data']), 'use-proxy-protocol')) ?? '',
          },
        ],
        remedies: [
          advice('move-key', 1, `put the key into ${named}, or remove it`, 'who reads it thinks that PROXY is on'),
        ],
      },
    ]
  })
}

/** The Service that leads to these controllers: a person looks for that. */
function serviceOf({index}: ClusterView, namespace: string, controllers: readonly Runner[]): string | undefined {
  const found = index.list('Service', '').find((service) => {
    const selector = record(field(record(service['spec']), 'selector')) as Readonly<Record<string, string>>
    return (
      service.metadata.namespace === namespace &&
      controllers.some((runner) => runner.namespace === namespace && selects(selector, runner.labels))
    )
  })
  return found === undefined ? undefined : `service/${namespace}/${found.metadata.name}`
}
