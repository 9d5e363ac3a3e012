import type {PairFacts} from './pair-facts.ts'

/** What a person does at a balancer that no API of the cluster reaches, line by line. Pure. */
export function balancerLines(facts: PairFacts, sends: 'header' | 'plain'): string[] {
  const {service, addresses} = facts
  const {others} = service
  const where = addresses.join(', ') || 'the balancer'
  const ports = service.ports.map(({port}) => port).join(' and ')
  return [
    sends === 'header'
      ? `switch the PROXY header on for ports ${ports} of ${where}`
      : `switch the PROXY header off for ports ${ports} of ${where}`,
    sends === 'header'
      ? 'HAProxy: send-proxy on every server line of these ports; nginx stream: proxy_protocol on (version 1); Envoy: transport socket upstream_proxy_protocol; kubectl srcip lb render haproxy|nginx|envoy prints the whole configuration'
      : 'HAProxy: no send-proxy on the server lines of these ports; nginx stream: proxy_protocol off; Envoy: no transport socket upstream_proxy_protocol',
    ...(others.length > 0
      ? [`leave ports ${others.join(', ')} as they are: what stands there has a switch of its own`]
      : []),
    'then reload it: the run goes on by itself when it sees the change',
  ]
}
