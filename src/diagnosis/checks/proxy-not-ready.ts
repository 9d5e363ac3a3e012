import type {Diagnosis} from '../judged-way.ts'
import {selects} from '../../platforms/workloads.ts'
import {command, type Check} from './check.ts'
import {dnsObject} from './two-hairpin-tools.ts'

export const proxyNotReady: Check = {
  id: 'SRC063',
  name: 'proxy-not-ready',
  severity: 'warning',
  means: 'Cluster DNS leads names to a proxy that has no ready pod: pods that call them are refused.',
  act: 'Look at why the proxy is not ready (`kubectl srcip status` tells its causes), or take the lines out meanwhile.',
  sources: [],
  run: (diagnosis) =>
    [...new Set(diagnosis.cluster.dns.rules.map((rule) => rule.target))]
      .filter((target) => isIdle(diagnosis, target))
      .map((target) => ({
        title: `names are led to ${target}, which has no ready pod`,
        object: `service/${target}`,
        evidence: [{object: dnsObject(diagnosis), field: 'data', value: target}],
        remedies: [command('status', 0, 'kubectl srcip status', 'tells why it is not ready')],
      })),
}

/** The Service is there, pods are known, and none that it selects is ready. */
function isIdle({cluster}: Diagnosis, target: string): boolean {
  const [namespace = '', name = ''] = target.split('/')
  const service = cluster.index.get('Service', namespace, name, '')
  const selector = (service?.['spec'] as {selector?: Record<string, string>} | undefined)?.selector
  if (selector === undefined || !['complete', 'absent'].includes(cluster.index.state('Pod', namespace))) return false
  return !cluster.runners.pods.some((pod) => pod.namespace === namespace && pod.ready && selects(selector, pod.labels))
}
