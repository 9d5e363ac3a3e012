import {shared} from '../../platforms/sources.ts'
import {isAsking, type WayFacts} from '../path/facts.ts'
import {advice, type Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const believesAnybodyCheck: Check = {
  id: 'SRC024',
  name: 'believes-anybody',
  severity: 'warning',
  means:
    'This receiver has no list of senders (or none is set): whoever reaches the port can claim any address with a PROXY header.',
  act: 'Fence the port: firewall of the balancer, NetworkPolicy, loadBalancerSourceRanges where the balancer keeps the source.',
  sources: [shared.proxyProtocol],
  run: (diagnosis) =>
    eachWay(diagnosis, ({facts}) =>
      isOpen(facts)
        ? {
            title: `${facts.receiver.row?.title ?? 'the receiver'} believes a PROXY header from anybody who reaches the port`,
            evidence: evidenceOf(facts),
            remedies: [
              advice(
                'fence',
                2,
                'let only the balancer reach the port: its firewall, a NetworkPolicy, or loadBalancerSourceRanges',
                'there is no list to set',
              ),
            ],
          }
        : undefined,
    ),
}

function isOpen(facts: WayFacts): boolean {
  if (!isAsking(facts)) return false
  return (
    facts.state?.trust.kind === 'anyone' || (facts.state?.notes ?? []).some((note) => /believes any header/.test(note))
  )
}
