import {nodesWithoutPods} from '../path/plain-way.ts'
import {advice, type Check} from './check.ts'
import {eachService} from './of-ways.ts'

export const svclbOnOtherNodes: Check = {
  id: 'SRC034',
  name: 'svclb-on-other-nodes',
  severity: 'warning',
  means:
    'k3s ServiceLB runs a pod on every node; on one without a pod of the receiver it still answers and masquerades, so such clients show as the first address of the pod range.',
  act: 'Pin ServiceLB to nodes that run the receiver (label svccontroller.k3s.cattle.io/enablelb), or run the receiver on every node.',
  sources: ['https://github.com/k3s-io/klipper-lb/blob/75a20be/entry', 'https://github.com/k3s-io/k3s/pull/6909'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      const missing = nodesWithoutPods(facts)
      if (facts.balancer.row?.id !== 'k3s-servicelb' || facts.policy !== 'Local' || missing.length === 0)
        return undefined
      return {
        title: `clients that use ${missing.join(', ')} get in through the svclb pod and lose their address`,
        evidence: missing.map((name) => ({object: `node/${name}`, value: 'no ready pod of this Service'})),
        remedies: [
          advice(
            'pod-on-each-node',
            2,
            'run the receiver on every node, or label the nodes that ServiceLB may use',
            'the address is kept only where a pod is',
          ),
        ],
      }
    }),
}
