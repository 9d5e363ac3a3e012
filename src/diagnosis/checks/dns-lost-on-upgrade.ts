import type {Diagnosis} from '../judged-way.ts'
import {rewriteNeeded, distributionOf} from './dns-writes.ts'
import {advice, type Check} from './check.ts'
import {dnsObject} from './two-hairpin-tools.ts'

export const dnsLostOnUpgrade: Check = {
  id: 'SRC056',
  name: 'dns-lost-on-upgrade',
  severity: 'info',
  means:
    'A rewrite in cluster DNS is kept until the distribution writes its DNS anew: an upgrade, a start, an add-on that is enabled again.',
  act: 'Look again after an upgrade (`kubectl srcip status`), or keep `kubectl srcip run` in the cluster, which puts its lines back.',
  sources: [
    'https://github.com/kubernetes/kubernetes/blob/03f2b63adec785c590be6b1c8ef09132a8110337/cmd/kubeadm/app/phases/addons/dns/dns.go',
  ],
  run: (diagnosis) => {
    const {location} = diagnosis.cluster.dns
    if (location === undefined || !rewriteNeeded(diagnosis)) return []
    const known =
      location.owner?.edits === 'kept-until-upgrade'
        ? {title: location.owner.title, lasts: location.owner.lasts}
        : (distributionOf(diagnosis.cluster.index) ?? unseen(diagnosis))
    if (known === undefined || location.owner?.edits === 'reverted') return []
    return [
      {
        title: `${known.title}: a rewrite in cluster DNS lasts ${known.lasts}`,
        object: dnsObject(diagnosis),
        remedies: [
          advice(
            'look-after-upgrade',
            1,
            'kubectl srcip status after every upgrade, or srcip run in the cluster',
            'the lines may be gone',
          ),
        ],
      },
    ]
  },
}

/** No owner is seen: the file is everybody's, until an upgrade of the distribution writes it. */
function unseen({cluster}: Diagnosis): {readonly title: string; readonly lasts: string} | undefined {
  return cluster.dns.location?.owner === undefined
    ? {
        title: 'no owner of the Corefile is seen',
        lasts: 'until an upgrade (kubeadm upgrade, talosctl upgrade-k8s) writes the file anew',
      }
    : undefined
}
