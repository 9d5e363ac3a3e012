import {compareText} from './names.ts'
import type {IngressClassSource, IngressSource} from './ingress.ts'

/** The class an Ingress ends up with. */
export interface ResolvedClass {
  /** Empty: it names none and the cluster has no default. */
  readonly name: string
  /** `spec.controller` of the IngressClass; empty if there is no such object. */
  readonly controller: string
}

/**
 * Controllers that serve every IngressClass carrying their `spec.controller`, so that this string tells one deployment
 * from another. The others (Traefik, Kong, Contour, F5) share one string between deployments and go by the class' name.
 * Source: each controller's documentation of its class flags.
 */
const controllersKnownByString = [
  'k8s.io/ingress-nginx',
  'haproxy.org/ingress-controller',
  'haproxy-ingress.github.io/controller',
]

/** Looks classes up: by name, by controller, and the default one. */
export class IngressClasses {
  readonly #byName = new Map<string, IngressClassSource>()
  readonly #default: IngressClassSource | undefined

  constructor(classes: Iterable<IngressClassSource>) {
    const defaults: IngressClassSource[] = []
    for (const entry of classes) {
      this.#byName.set(entry.name, entry)
      if (entry.isDefault) defaults.push(entry)
    }
    // Several defaults: the newest wins, then the name, as the admission plugin DefaultIngressClass decides since 1.26.
    defaults.sort((a, b) => compareText(b.created, a.created) || compareText(a.name, b.name))
    this.#default = defaults[0]
  }

  /** The class of one Ingress. */
  resolve(ingress: IngressSource): ResolvedClass {
    const name = ingress.className ?? this.#default?.name ?? ''
    return {name, controller: this.#byName.get(name)?.controller ?? ''}
  }

  /**
   * True if one of `wanted` means this class. A value with a slash is a `spec.controller`. Any other is the name of a
   * class, and takes with it the classes that the same controller serves (see `controllersKnownByString`).
   */
  matches(found: ResolvedClass, wanted: readonly string[]): boolean {
    return wanted.some((value) => {
      if (value.includes('/')) return found.controller === value
      if (found.name === value) return true
      const controller = this.#byName.get(value)?.controller ?? ''
      return controller !== '' && controller === found.controller && knownByString(controller)
    })
  }

  /** True if ingress-nginx serves that class, or may: a class without an object can be anybody's. */
  readsNginxAnnotations(found: ResolvedClass): boolean {
    return found.controller === '' || found.controller.startsWith('k8s.io/ingress-nginx')
  }
}

function knownByString(controller: string): boolean {
  return controllersKnownByString.some((start) => controller.startsWith(start))
}
