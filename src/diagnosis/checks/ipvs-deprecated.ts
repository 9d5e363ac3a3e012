import {advice, type Check} from './check.ts'

export const ipvsDeprecated: Check = {
  id: 'SRC036',
  name: 'ipvs-deprecated',
  severity: 'warning',
  means:
    'kube-proxy runs in IPVS mode: it binds the addresses of balancers on every node, which is worse than a rule (a balancer that uses such an address as its source never gets answers), and it is deprecated since 1.35.',
  act: 'Move to nftables mode.',
  sources: ['https://github.com/kubernetes/enhancements/issues/5495'],
  run: ({cluster}) =>
    cluster.plane.mode !== 'ipvs'
      ? []
      : [
          {
            title: 'kube-proxy runs in IPVS mode, which is deprecated',
            object: 'configmap/kube-system/kube-proxy',
            evidence: [{object: 'configmap/kube-system/kube-proxy', field: 'data["config.conf"]', value: 'mode: ipvs'}],
            remedies: [
              advice('nftables', 2, 'mode: nftables, and restart kube-proxy', 'IPVS mode is planned off in 1.40'),
            ],
          },
        ],
}
