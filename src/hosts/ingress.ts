import {annotation, field, identity, list, record, text, texts, words} from '../model/fields.ts'
import type {Identity} from '../model/fields.ts'

/** An Ingress of networking.k8s.io/v1, as much of it as can add a name. */
export interface IngressSource extends Identity {
  /** Annotation `kubernetes.io/ingress.class`, else `spec.ingressClassName`; undefined: none named. */
  readonly className: string | undefined
  /** Hosts of `spec.rules`. */
  readonly ruleHosts: readonly string[]
  /** Hosts of `spec.tls`: the controller answers for them too, if only with a 404. */
  readonly tlsHosts: readonly string[]
  /** A rule without a host, or no rule at all. */
  readonly hostless: boolean
  /** Entries of ingress-nginx' `server-alias`. */
  readonly aliases: readonly string[]
  /** ingress-nginx' `from-to-www-redirect`. */
  readonly wwwRedirect: boolean
  /** Annotation `srcip.dev/exclude: "true"`. */
  readonly excluded: boolean
}

/** An IngressClass: which controller serves it. */
export interface IngressClassSource extends Identity {
  readonly controller: string
  readonly isDefault: boolean
}

/** Annotation of ours that leaves the names of an object out. */
export const excludeAnnotation = 'srcip.dev/exclude'

/** Most lists are empty; thousands of objects share this one. */
const none: readonly string[] = []

const nginxPrefix = 'nginx.ingress.kubernetes.io/'

/** Projects any object to an IngressSource; undefined if it has no name. Never throws. */
export function projectIngress(value: unknown): IngressSource | undefined {
  const who = identity(value)
  if (who === undefined) return undefined
  const spec = record(field(record(value), 'spec'))
  const rules = list(field(spec, 'rules'))
  const ruleHosts: string[] = []
  let hostless = rules.length === 0
  for (const rule of rules) {
    const host = text(field(record(rule), 'host'))
    if (host === undefined) hostless = true
    else ruleHosts.push(host)
  }
  const tlsHosts = list(field(spec, 'tls')).flatMap((entry) => texts(field(record(entry), 'hosts')))
  const aliases = annotation(value, `${nginxPrefix}server-alias`)
  return {
    ...who,
    // The annotation wins where both are set: that is how every controller that still reads it behaves (KEP-1453).
    className: text(annotation(value, 'kubernetes.io/ingress.class')) ?? text(field(spec, 'ingressClassName')),
    ruleHosts: ruleHosts.length === 0 ? none : ruleHosts,
    tlsHosts: tlsHosts.length === 0 ? none : tlsHosts,
    hostless,
    aliases: aliases === undefined ? none : words(aliases),
    wwwRedirect: annotation(value, `${nginxPrefix}from-to-www-redirect`) === 'true',
    excluded: annotation(value, excludeAnnotation) === 'true',
  }
}

/** Projects any object to an IngressClassSource; undefined if it has no name. Never throws. */
export function projectIngressClass(value: unknown): IngressClassSource | undefined {
  const who = identity(value)
  if (who === undefined) return undefined
  return {
    ...who,
    controller: text(field(record(field(record(value), 'spec')), 'controller')) ?? '',
    isDefault: annotation(value, 'ingressclass.kubernetes.io/is-default-class') === 'true',
  }
}
