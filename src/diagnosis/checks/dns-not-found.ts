import {advice, type Check} from './check.ts'
import {rewriteNeeded} from './dns-writes.ts'
import {dnsObject} from './two-hairpin-tools.ts'

export const dnsNotFound: Check = {
  id: 'SRC059',
  name: 'dns-not-certain',
  severity: 'info',
  means: 'Cluster DNS could not be told for certain, or a ConfigMap with a Corefile is mounted by nobody.',
  act: 'Name the DNS Service (--dns-service), end a rollout, or remove the ConfigMap that nobody reads.',
  sources: [],
  run: (diagnosis) => {
    const {dns} = diagnosis.cluster
    const unread = (dns.location?.ignored ?? []).filter(({object}) => object.startsWith('configmap/'))
    return [
      ...(dns.problem === undefined || !rewriteNeeded(diagnosis)
        ? []
        : [
            {
              title: dns.problem,
              object: 'cluster DNS',
              remedies: [
                advice(
                  'look',
                  0,
                  'kubectl get services,endpointslices -A -l k8s-app=kube-dns',
                  'which of them answers pods',
                ),
              ],
            },
          ]),
      ...unread.map(({object, reason}) => ({
        title: `${object} ${reason}; ${dnsObject(diagnosis)} is the one that is read`,
        object,
        evidence: [{object: dnsObject(diagnosis), field: `data.${dns.location?.corefile.key ?? 'Corefile'}`}],
        remedies: [],
      })),
    ]
  },
}
