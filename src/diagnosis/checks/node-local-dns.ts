import type {Diagnosis} from '../judged-way.ts'
import {advice, type Check} from './check.ts'

export const nodeLocalDns: Check = {
  id: 'SRC050',
  name: 'node-local-dns',
  severity: 'warning',
  means:
    'node-local-dns answers pods on every node and sends public names straight to upstream servers: rewrites in CoreDNS are never seen for them.',
  act: 'Add the hosts to the template of the node cache as blocks that forward to cluster DNS; never rewrite in its own `.:53`.',
  sources: [
    'https://github.com/kubernetes/kubernetes/blob/028f956d2f934d6c82ca815e3f8d622da7e480cb/cluster/addons/dns/nodelocaldns/nodelocaldns.yaml',
  ],
  run: (diagnosis) => {
    const {dns} = diagnosis.cluster
    const {nodeLocal} = dns
    if (nodeLocal === undefined || !dns.bypassed) return []
    const rewritten = dns.rules.length > 0
    const object = `daemonset/${nodeLocal.namespace}/${nodeLocal.daemonSet}`
    return [
      {
        title: rewritten
          ? `rewrites in CoreDNS are not seen: ${nodeLocal.daemonSet} answers pods on ${nodeLocal.addresses.join(', ')}`
          : `${nodeLocal.daemonSet} answers pods without asking CoreDNS: rewrites there would not be seen`,
        object,
        severity: rewritten ? ('error' as const) : needed(diagnosis) ? ('warning' as const) : ('info' as const),
        evidence: [
          {
            object:
              nodeLocal.configMap === undefined ? object : `configmap/${nodeLocal.namespace}/${nodeLocal.configMap}`,
            field: `data.${nodeLocal.key ?? 'Corefile'}`,
            value: '.:53 forwards to upstream servers',
          },
        ],
        remedies: [
          advice(
            'node-cache-block',
            2,
            'a block for the hosts in the template of the node cache, with the same bind, that forwards to __PILLAR__CLUSTER__DNS__',
            'the node cache then asks CoreDNS for them',
          ),
        ],
      },
    ]
  },
}

/** Would a rewrite be the cure of anything here? */
function needed({ways}: Diagnosis): boolean {
  return ways.some(({hairpin}) => hairpin.verdict === 'broken' || hairpin.verdict === 'half-broken')
}
