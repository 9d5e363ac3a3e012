import {field, record} from '../../model/fields.ts'
import {configOf} from '../../platforms/receivers/config-map-reader.ts'
import {questionFor} from '../../platforms/receivers/read.ts'
import {advice, type Check} from './check.ts'
import {eachService} from './of-ways.ts'

/** Keys of F5's controller that other projects' guides and charts put into ingress-nginx' ConfigMap (platforms.md 2.2 row 10). */
const dead = ['real-ip-header', 'set-real-ip-from', 'set_real_ip_from', 'real_ip_header']

export const deadKey: Check = {
  id: 'SRC021',
  name: 'dead-key',
  severity: 'warning',
  means:
    'The ConfigMap of ingress-nginx holds keys that it does not know. They are ignored without a word, and whoever wrote them believes that they work.',
  act: 'Remove them; the keys that work are proxy-real-ip-cidr and forwarded-for-header.',
  sources: ['https://github.com/UpCloudLtd/uks-instructions/blob/577ee1c/ingress/README.md'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      if (facts.receiver.row?.id !== 'ingress-nginx') return undefined
      const question = questionFor(facts.cluster.index, facts.service, facts.receiver, facts.port)
      const config = question === undefined ? undefined : configOf(question, ['--configmap'])
      const data = record(config?.object?.['data'])
      const found = dead.filter((key) => field(data, key) !== undefined)
      if (config === undefined || found.length === 0) return undefined
      const object = `configmap/${config.namespace}/${config.name}`
      return {
        title: `ingress-nginx does not know ${found.join(', ')}: nothing happens`,
        evidence: found.map((key) => ({object, field: `data.${key}`})),
        remedies: [
          advice(
            'remove-key',
            1,
            `remove ${found.join(' and ')} from ${object}; set proxy-real-ip-cidr`,
            'it has no effect and misleads',
          ),
        ],
      }
    }),
}
