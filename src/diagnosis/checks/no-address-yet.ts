import {advice, type Check} from './check.ts'
import {eachService, target} from './of-ways.ts'

export const noAddressYet: Check = {
  id: 'SRC013',
  name: 'no-address-yet',
  severity: 'warning',
  means: 'A Service of type LoadBalancer has no address: nothing is installed that serves it, or that has failed.',
  act: 'Look at its events; install a balancer, or use a node port.',
  sources: ['https://kubernetes.io/docs/concepts/services-networking/service/#loadbalancer'],
  run: (diagnosis) =>
    eachService(diagnosis, ({facts}) =>
      facts.door === 'balancer' && facts.entries.length === 0
        ? {
            title: 'nobody has given this Service an address',
            remedies: [advice('look', 0, `kubectl describe ${target(facts)}`, 'its events say who tried')],
          }
        : undefined,
    ),
}
