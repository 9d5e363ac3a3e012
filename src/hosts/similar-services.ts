import {compareText} from './names.ts'

/** A Service as far as its name goes. */
export interface NamedService {
  readonly namespace: string
  readonly name: string
}

/**
 * Services that somebody may have meant by a name that does not exist: a release that was renamed, another namespace (B38). Most alike
 * first, at most `most`; nothing where no word of the name is shared. Pure.
 */
export function similarServices(wanted: string, services: Iterable<NamedService>, most = 3): string[] {
  const [namespace = '', name = ''] = wanted.split('/')
  const words = new Set(name.split('-'))
  const likeness = (one: NamedService): number => {
    const shared = new Set(one.name.split('-').filter((word) => words.has(word))).size
    if (shared === 0) return 0
    return shared + (one.name === name ? 2 : 0) + (one.namespace === namespace ? 1 : 0)
  }
  return [...services]
    .map((one) => ({place: `${one.namespace}/${one.name}`, likeness: likeness(one)}))
    .filter((one) => one.likeness > 0)
    .sort((a, b) => b.likeness - a.likeness || compareText(a.place, b.place))
    .slice(0, most)
    .map(({place}) => place)
}
