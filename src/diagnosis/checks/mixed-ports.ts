import {isSending} from '../path/facts.ts'
import {advice, type Check} from './check.ts'
import {eachService, statusEvidence} from './of-ways.ts'

export const mixedPorts: Check = {
  id: 'SRC016',
  name: 'mixed-ports',
  severity: 'warning',
  means:
    'Some ports of this Service have PROXY and some do not, so its controller writes ipMode VIP for all of them and pods are short-circuited on every port.',
  act: 'Give the plain ports a Service of their own, or set the annotation for ipMode.',
  sources: ['https://github.com/scaleway/scaleway-cloud-controller-manager/blob/bddc17f/scaleway/loadbalancers.go'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}, all) => {
      const {row} = facts.balancer
      if (row?.status.on.value.onlyIfAllPorts !== true || facts.allPortsSend) return undefined
      if (!all.some((way) => isSending(way.facts.sender))) return undefined
      const plain = all.filter((way) => !isSending(way.facts.sender)).map((way) => way.facts.port)
      return {
        title: `ports without PROXY (${plain.join(', ')}) make ${row.title} write ipMode VIP for the whole Service`,
        evidence: statusEvidence(facts),
        remedies: [
          advice(
            'ipMode',
            1,
            row.ipMode === undefined
              ? 'a Service of their own for the plain ports'
              : `annotation ${row.ipMode.value}: Proxy, or a Service of their own for the plain ports`,
            'pods then go through the balancer',
          ),
        ],
      }
    }),
}
