import type {IngressClasses, ResolvedClass} from './classes.ts'
import type {Collection, HostOptions} from './collection.ts'
import type {IngressSource} from './ingress.ts'
import {isRestricted, preferred} from './targets.ts'
import type {ProxyService} from './targets.ts'

/** Adds the names of Ingresses to a collection under way. */
export function addIngresses(
  collection: Collection,
  ingresses: Iterable<IngressSource>,
  classes: IngressClasses,
  options: HostOptions,
): void {
  const served = new Map<string, Set<string>>()
  for (const ingress of ingresses) {
    const found = classes.resolve(ingress)
    const proxy = addIngress(collection, ingress, found, classes, options)
    if (proxy === undefined || isRestricted(proxy) || (options.ingressClasses ?? []).length > 0) continue
    served.set(proxy.target, (served.get(proxy.target) ?? new Set()).add(found.name))
  }
  for (const [target, names] of served) {
    if (names.size < 2) continue
    const listed = [...names].sort().map((name) => (name === '' ? '(none)' : name))
    const some =
      listed.length > 5 ? `${listed.slice(0, 5).join(', ')} and ${listed.length - 5} more` : listed.join(', ')
    collection.warn(
      `Service ${target} has no annotation srcip.dev/ingress-classes and takes the names of several classes (${some}); ` +
        `name the classes that it really serves`,
    )
  }
}

function addIngress(
  collection: Collection,
  ingress: IngressSource,
  found: ResolvedClass,
  classes: IngressClasses,
  options: HostOptions,
): ProxyService | undefined {
  const source = `ingress/${ingress.namespace}/${ingress.name}`
  const names = namesOf(ingress)
  const nginx = classes.readsNginxAnnotations(found)
  const added = annotationNames(ingress)
  const all = [...names, ...(nginx ? added : [])]
  const leaveAllOut = (reason: string): undefined => {
    for (const name of all.length === 0 ? [''] : all) collection.leaveOut(name, reason, source)
  }

  if (ingress.excluded) return leaveAllOut('annotation srcip.dev/exclude is "true"')
  const wanted = options.ingressClasses ?? []
  if (wanted.length > 0 && !classes.matches(found, wanted)) {
    return leaveAllOut(`its ${className(found)} is not one of --ingress-class ${wanted.join(',')}`)
  }
  const proxy = preferred(
    options.proxies.filter((entry) => !isRestricted(entry) || classes.matches(found, entry.ingressClasses ?? [])),
  )
  if (proxy === undefined) return leaveAllOut(`no-proxy-for-class: no proxy Service names its ${className(found)}`)

  if (ingress.hostless) collection.leaveOut('', 'answers every name: cannot be rewritten', source)
  for (const spelling of names) {
    collection.take({
      spelling,
      wildcardKind: 'wildcard-one-label',
      proxy,
      ports: [80, 443],
      source,
      created: ingress.created,
    })
  }
  for (const spelling of added) {
    if (!nginx) {
      collection.leaveOut(
        spelling,
        `only ingress-nginx reads its annotation, ${className(found)} is another controller`,
        source,
      )
    } else if (spelling.startsWith('~')) {
      collection.leaveOut(spelling, 'server-alias is a regular expression: cannot be rewritten', source)
    } else {
      // nginx' own wildcard server names match any number of labels.
      collection.take({
        spelling,
        wildcardKind: 'wildcard-any-depth',
        proxy,
        ports: [80, 443],
        source,
        created: ingress.created,
      })
    }
  }
  return proxy
}

/** Names of the fields themselves. */
function namesOf(ingress: IngressSource): string[] {
  return [...new Set([...ingress.ruleHosts, ...ingress.tlsHosts])]
}

/**
 * Names that ingress-nginx adds: `server-alias` as listed, and for `from-to-www-redirect` the other one of NAME and
 * www.NAME for each rule host (internal/ingress/controller: a server of its own that only redirects).
 */
function annotationNames(ingress: IngressSource): string[] {
  const names = new Set(ingress.aliases)
  if (ingress.wwwRedirect) {
    for (const host of ingress.ruleHosts) {
      if (!host.startsWith('*')) names.add(host.startsWith('www.') ? host.slice(4) : `www.${host}`)
    }
  }
  for (const name of namesOf(ingress)) names.delete(name)
  return [...names]
}

function className(found: ResolvedClass): string {
  if (found.name === '') return 'class (none, and the cluster has no default class)'
  return found.controller === '' ? `class ${found.name}` : `class ${found.name} (${found.controller})`
}

/** Adds what `--host` names. With several proxies that say whom they serve there is no telling where it belongs. */
export function addFlagHosts(collection: Collection, options: HostOptions): void {
  const source = options.hostsSource ?? 'flag'
  const open = options.proxies.filter((proxy) => !isRestricted(proxy))
  const proxy = options.proxies.length === 1 ? options.proxies[0] : preferred(open)
  for (const spelling of options.hosts ?? []) {
    if (proxy === undefined) {
      collection.leaveOut(
        spelling,
        'no-proxy-for-class: several proxy Services, none serves every class; give --target',
        source,
      )
    } else {
      collection.take({
        spelling,
        wildcardKind: 'wildcard-one-label',
        proxy,
        ports: proxy.ports ?? [],
        source,
        created: '',
      })
    }
  }
}
