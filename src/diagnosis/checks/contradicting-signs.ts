import {advice, type Check} from './check.ts'
import {eachService} from './of-ways.ts'

export const contradictingSigns: Check = {
  id: 'SRC011',
  name: 'contradicting-signs',
  severity: 'warning',
  means: 'Two signs name different balancers, receivers or service proxies, so no verdict rests on them.',
  act: 'Look at what runs. Left-overs of an old installation are the usual cause.',
  sources: [],
  run: (diagnosis) => [
    ...(diagnosis.cluster.plane.contradiction.length > 0
      ? [
          {
            title: `several CNIs replace kube-proxy: ${diagnosis.cluster.plane.contradiction.join(', ')}`,
            object: 'cluster',
            remedies: [advice('look', 0, 'kubectl get daemonsets -A', 'one of them is a left-over')],
          },
        ]
      : []),
    ...eachService(diagnosis, ({facts}) => {
      const {balancer, receiver} = facts
      const parts = [
        facts.state?.asks === 'some' ? 'pods of one Service read different settings' : undefined,
        balancer.contradiction.length > 0 ? `the balancer could be ${balancer.contradiction.join(' or ')}` : undefined,
        receiver.contradiction.length > 0 ? `the receiver could be ${receiver.contradiction.join(' or ')}` : undefined,
      ].filter((part) => part !== undefined)
      if (parts.length === 0) return undefined
      return {
        title: parts.join('; '),
        evidence: [...balancer.clues, ...receiver.clues].map(({object, field, value}) => ({object, field, value})),
        remedies: [
          advice(
            'look',
            0,
            `kubectl describe service, and the pods behind it`,
            'its events name the controller that serves it',
          ),
        ],
      }
    }),
  ],
}
