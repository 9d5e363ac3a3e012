import {advice, type Check} from './check.ts'
import {eachService, evidenceOf} from './of-ways.ts'

export const hostNetwork: Check = {
  id: 'SRC037',
  name: 'host-network',
  severity: 'info',
  means:
    'The receiver listens on the ports of the nodes themselves: clients come in by node addresses, and only nodes with a pod answer.',
  act: 'Names must list nodes that run it; the service proxy plays no part, so addresses are kept unless a proxy stands in front.',
  sources: ['https://kubernetes.io/docs/concepts/workloads/pods/'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      if (!facts.receiver.runners.some((runner) => runner.spec.hostNetwork) || facts.receiver.row === undefined)
        return undefined
      return {
        title: `${facts.receiver.row.title} listens on the ports of the nodes (hostNetwork)`,
        evidence: [
          ...facts.receiver.runners
            .slice(0, 1)
            .map((runner) => ({object: runner.object, field: 'spec.hostNetwork', value: 'true'})),
          ...evidenceOf(facts),
        ],
        remedies: [
          advice(
            'pod-on-each-node',
            1,
            'let names point only at nodes that run a pod of it',
            'the others refuse connections',
          ),
        ],
      }
    }),
}
