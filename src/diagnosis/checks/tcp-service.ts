import {forOutside} from '../remedies/for-outside.ts'
import {isSending, type WayFacts} from '../path/facts.ts'
import {advice, type Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const tcpService: Check = {
  id: 'SRC040',
  name: 'tcp-service',
  cures: true,
  severity: 'warning',
  means:
    'A port of ingress-nginx is a TCP service: a connection of its own to an application, with a switch of its own in the tcp-services ConfigMap. Where the balancer sends PROXY on every port (or will), a port that does not decode hands the header on as data; where it decodes and does not pass it on, the application sees the controller.',
  act: 'Write NAMESPACE/SERVICE:PORT:PROXY to decode, and a second :PROXY to pass it on to an application that reads it.',
  sources: ['https://github.com/kubernetes/ingress-nginx/blob/dbb11b92d/docs/user-guide/exposing-tcp-udp-services.md'],
  run: (diagnosis) =>
    eachWay(diagnosis, (way) => {
      const {facts} = way
      const tcp = facts.state?.tcpService
      if (tcp === undefined) return undefined
      const name = `${tcp.namespace}/${tcp.service}:${tcp.port}`
      if (way.outside.cause === 'not-passed-on')
        return {title: way.outside.why, severity: 'error', evidence: evidenceOf(facts), remedies: forOutside(way)}
      if (tcp.decodes || !sendsOrWill(facts)) return undefined
      return {
        title: `tcp-services ${facts.port}: ${name} does not decode PROXY; ${isSending(facts.sender) ? 'the balancer sends it' : 'it breaks once the balancer sends it on every port'}`,
        evidence: evidenceOf(facts),
        remedies: [
          advice(
            'receiver-on',
            1,
            `${name}:PROXY in the tcp-services ConfigMap (with a second :PROXY if ${tcp.service} reads it)`,
            'the port then reads the header',
          ),
        ],
      }
    }),
}

/** Can this balancer send at all? */
function sendsOrWill(facts: WayFacts): boolean {
  return isSending(facts.sender) || (facts.balancer.row?.proxy.value.length ?? 0) > 0
}
