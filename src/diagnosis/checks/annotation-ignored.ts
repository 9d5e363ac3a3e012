import {advice, type Check} from './check.ts'
import {eachService} from './of-ways.ts'
import {serviceRef} from '../path/facts.ts'

const preserve = 'oci-network-load-balancer.oraclecloud.com/is-preserve-source'

export const annotationIgnored: Check = {
  id: 'SRC010',
  name: 'annotation-ignored',
  severity: 'warning',
  means:
    'An annotation that looks like a PROXY switch does nothing here: it belongs to another cloud, has a value that its controller does not take, or nobody reads it.',
  act: 'Use the key and the value of the cloud that the nodes run on. The provider is told from node providerID and status, not from the annotations.',
  sources: [
    'https://github.com/kubernetes/cloud-provider-aws/blob/63ec440c/docs/service_controller.md',
    'https://github.com/linode/linode-cloud-controller-manager/blob/b9aa9012/docs/configuration/annotations.md',
  ],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      const {row} = facts.balancer
      const unheard =
        row?.id === 'oracle' && facts.policy === 'Cluster' && facts.service.metadata.annotations?.[preserve] === 'true'
          ? [{key: preserve, value: 'true', why: 'ignored with externalTrafficPolicy Cluster'}]
          : []
      const ignored = [...facts.ignored, ...unheard]
      if (ignored.length === 0) return undefined
      const switches = row?.proxy.value ?? []
      const hint = switches.find(({kind}) => kind === 'value') ?? switches[0]
      const right =
        hint?.kind === 'value'
          ? `${hint.key}: "${Object.entries(hint.values).find(([, version]) => version !== 'off')?.[0] ?? 'true'}"`
          : hint !== undefined && 'key' in hint
            ? hint.key
            : undefined
      return {
        title: ignored.map(({key, why}) => `annotation ${key} does nothing: ${why}`).join('; '),
        evidence: ignored.map(({key, value}) => ({
          object: serviceRef(facts.service),
          field: `metadata.annotations["${key}"]`,
          value,
        })),
        remedies: [
          row === undefined || unheard.length > 0
            ? advice(
                'look',
                0,
                'find out which controller serves this Service',
                'its documentation names the annotation',
              )
            : switches.length === 0
              ? advice(
                  'externalTrafficPolicy-local',
                  1,
                  `${row.title} never adds PROXY: externalTrafficPolicy Local keeps the address, or an outer proxy sends the header`,
                  'no annotation can switch it on',
                )
              : advice(
                  'sender-on',
                  2,
                  right === undefined ? 'see its documentation' : `annotation ${right}`,
                  `that is the switch of ${row.title}`,
                ),
        ],
      }
    }),
}
