import {healthCheckProblem} from '../path/carried-way.ts'
import {serviceRef} from '../path/facts.ts'
import {ask} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachService} from './of-ways.ts'

const privateLink = 'service.beta.kubernetes.io/azure-pls-proxy-protocol'

export const healthCheck: Check = {
  id: 'SRC018',
  name: 'health-check',
  severity: 'warning',
  means:
    "The balancer's health check does not speak PROXY, or changes with the switch: it may take every target for dead.",
  act: 'Use a TCP health check, or a port that reads no header.',
  sources: [
    'https://github.com/kubernetes-sigs/aws-load-balancer-controller/blob/225f44568/docs/guide/service/annotations.md',
    'https://github.com/kubernetes-sigs/cloud-provider-azure/blob/7b31c76ce/pkg/provider/azure_loadbalancer.go',
  ],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      const sick = healthCheckProblem(facts)
      if (sick !== undefined) return {title: sick.why, remedies: ask(sick.check)}
      if (facts.balancer.row?.id === 'azure' && facts.service.metadata.annotations?.[privateLink] === 'true')
        return {
          title: 'PROXY on the Private Link Service also changes which health probe is made',
          evidence: [
            {object: serviceRef(facts.service), field: `metadata.annotations["${privateLink}"]`, value: 'true'},
          ],
          remedies: ask('health of the backend pool in the portal'),
        }
      return undefined
    }),
}
