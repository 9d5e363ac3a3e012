import {field, list, record} from '../../model/fields.ts'
import {shared} from '../../platforms/sources.ts'
import {serviceRef} from '../path/facts.ts'
import {advice, type Check} from './check.ts'
import {eachService} from './of-ways.ts'

export const sourceRanges: Check = {
  id: 'SRC044',
  name: 'source-ranges',
  severity: 'warning',
  means:
    'loadBalancerSourceRanges filter on the node, and this balancer comes to a node port with an address of its own: the filter is never asked.',
  act: "Use the firewall of the balancer, or the receiver's own list (whitelist-source-range), which sees the address that PROXY carries.",
  sources: [shared.kubeProxy],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      const ranges = list(field(record(facts.service['spec']), 'loadBalancerSourceRanges'))
      if (ranges.length === 0 || facts.balancer.row?.place !== 'cloud' || facts.plain?.source !== 'translated')
        return undefined
      return {
        title: 'loadBalancerSourceRanges do not filter here: the balancer comes to a node port with its own address',
        evidence: [
          {object: serviceRef(facts.service), field: 'spec.loadBalancerSourceRanges', value: ranges.join(', ')},
        ],
        remedies: [
          advice(
            'fence',
            2,
            'the firewall of the balancer, or the list of allowed sources of the receiver',
            'the node never sees the client',
          ),
        ],
      }
    }),
}
