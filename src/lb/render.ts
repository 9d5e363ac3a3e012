import type {Balancer, BalancerSpec} from './balancer.ts'
import {renderEnvoy} from './envoy.ts'
import {renderHaproxy} from './haproxy.ts'
import {nginxWarnings, renderNginx} from './nginx.ts'

export interface Rendered {
  readonly text: string
  readonly warnings: readonly string[]
}

/** Configuration of one balancer. Pure: same input, same bytes. Throws Precondition (32) for what the program cannot do. */
export function renderBalancer(balancer: Balancer, spec: BalancerSpec): Rendered {
  switch (balancer) {
    case 'haproxy':
      return {text: renderHaproxy(spec), warnings: []}
    case 'nginx':
      return {text: renderNginx(spec), warnings: nginxWarnings(spec)}
    case 'envoy':
      return {text: renderEnvoy(spec), warnings: []}
  }
}
