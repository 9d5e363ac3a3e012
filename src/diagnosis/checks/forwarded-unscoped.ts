import {readRange} from '../../model/address-range.ts'
import {compareVersions} from '../../platforms/versions.ts'
import type {WayFacts} from '../path/facts.ts'
import {advice, type Check} from './check.ts'
import {eachService, evidenceOf} from './of-ways.ts'

export const forwardedUnscoped: Check = {
  id: 'SRC022',
  name: 'forwarded-unscoped',
  severity: 'warning',
  means: 'X-Forwarded-For is believed from everybody: any client can write the address it likes.',
  act: 'Scope it: proxy-real-ip-cidr with the ranges of the proxies in front (ingress-nginx), numTrustedProxies with a fence (Istio).',
  sources: [
    'https://github.com/kubernetes/ingress-nginx/blob/dbb11b92d/docs/user-guide/nginx-configuration/configmap.md',
    'https://github.com/kubernetes/ingress-nginx/blob/controller-v1.13.0/rootfs/etc/nginx/template/nginx.tmpl',
  ],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) => {
      if (!believesAnybody(facts)) return undefined
      const istio = facts.receiver.row?.id === 'istio'
      return {
        title: istio
          ? 'with numTrustedProxies set, X-Forwarded-For of any client wins over PROXY'
          : 'X-Forwarded-For is believed from every peer: any client can claim any address',
        evidence: evidenceOf(facts),
        remedies: [
          istio
            ? advice(
                'trust-list',
                1,
                'numTrustedProxies 0 where PROXY carries the address',
                'the header of the balancer then counts',
              )
            : advice(
                'trust-list',
                1,
                'set proxy-real-ip-cidr to the peers that write the header, or switch use-forwarded-headers off',
                'the header is then believed from them alone',
              ),
        ],
      }
    }),
}

/**
 * Is the header of any peer believed? With PROXY on, ingress-nginx lets X-Forwarded-For win from v1.13.0 on only
 * (platforms.md 2.2 row 7).
 */
function believesAnybody({state, receiver}: WayFacts): boolean {
  const forwarded = state?.forwarded
  if (forwarded === undefined) return false
  if (forwarded.kind === 'ranges' && !forwarded.ranges.some((range) => readRange(range)?.bits === 0)) return false
  if (forwarded.kind !== 'ranges' && forwarded.kind !== 'anyone') return false
  if (state?.asks !== 'yes' || receiver.row?.id !== 'ingress-nginx') return true
  return (compareVersions(receiver.version, '1.13.0') ?? 0) >= 0
}
