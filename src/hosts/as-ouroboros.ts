import {field, record, text} from '../model/fields.ts'
import {Collection} from './collection.ts'
import type {HostCollection} from './collection.ts'
import type {HostSources} from './collect.ts'
import {projectIngress} from './ingress.ts'
import type {IngressSource} from './ingress.ts'
import type {ProxyService} from './targets.ts'

/** Class filters of ouroboros: names, compared as they are; empty takes all. */
export interface OuroborosChoice {
  readonly ingressClass: string
  readonly gatewayClass: string
  readonly proxy: ProxyService
}

/**
 * The names that ouroboros v0.8 takes from the same objects, so that its chart gets the same set: `spec.tls[].hosts` of Ingresses,
 * hostnames of Gateway listeners, hostnames of HTTPRoutes (with a Gateway class: of those that name one of its Gateways).
 * Rule hosts, wildcards, acceptance and annotations of controllers have no part in it; what is left out says so. Pure.
 */
export function hostsAsOuroboros(sources: HostSources, choice: OuroborosChoice): HostCollection {
  const collection = new Collection([])
  const take = (spelling: string, source: string, created: string): void => {
    if (spelling.includes('*') || spelling.includes('?'))
      collection.leaveOut(spelling, 'ouroboros takes no wildcards', source)
    else
      collection.take({spelling, wildcardKind: 'wildcard-one-label', proxy: choice.proxy, ports: [], source, created})
  }
  for (const {namespace, name, created, className, tlsHosts, ruleHosts, excluded} of sources.ingresses ?? []) {
    const source = `ingress/${namespace}/${name}`
    if (excluded) collection.leaveOut('', 'annotation srcip.dev/exclude is "true"', source)
    else if (choice.ingressClass !== '' && className !== choice.ingressClass)
      collection.leaveOut('', `its class is not ${choice.ingressClass}`, source)
    else {
      for (const host of tlsHosts) take(host, source, created)
      for (const host of ruleHosts)
        if (!tlsHosts.includes(host)) collection.leaveOut(host, 'ouroboros takes hosts of spec.tls only', source)
    }
  }
  const gateways = [...(sources.gateways ?? [])].filter(
    (gateway) => choice.gatewayClass === '' || gateway.className === choice.gatewayClass,
  )
  for (const {namespace, name, created, listeners} of gateways)
    for (const {hostname} of listeners)
      if (hostname !== undefined) take(hostname, `gateway/${namespace}/${name}`, created)
  const known = new Set(gateways.map(({namespace, name}) => `${namespace}/${name}`))
  for (const {namespace, name, created, hostnames, parents} of sources.routes ?? []) {
    const source = `httproute/${namespace}/${name}`
    const isServed = parents.some(
      (parent) => parent.kind === 'Gateway' && known.has(`${parent.namespace}/${parent.name}`),
    )
    if (choice.gatewayClass !== '' && !isServed)
      collection.leaveOut('', `it names no Gateway of class ${choice.gatewayClass}`, source)
    else for (const host of hostnames) take(host, source, created)
  }
  return collection.finish()
}

/** As projectIngress, with the class that ouroboros reads: `spec.ingressClassName` alone. Never throws. */
export function projectIngressAsOuroboros(value: unknown): IngressSource | undefined {
  const ingress = projectIngress(value)
  const className = text(field(record(field(record(value), 'spec')), 'ingressClassName'))
  return ingress === undefined ? undefined : {...ingress, className}
}
