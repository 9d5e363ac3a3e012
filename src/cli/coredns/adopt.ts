import {hairpinProxyComment, type AdoptedOwner} from '../../../plugins/coredns/src/index.ts'
import type {CorednsPlanRequest} from '../../cluster-dns/plan/request.ts'
import type {DnsState} from '../../cluster-dns/types.ts'
import type {Published} from '../../controller/names-guard.ts'
import {publishedInState, publishedNames} from '../../controller/published-names.ts'
import {isExcludedBy} from '../../hosts/index.ts'
import {defaultTarget} from './wanted.ts'

export type CorednsOperation = 'apply' | 'clean' | 'adopt'

/** Whose lines `adopt` takes over. */
const others: readonly AdoptedOwner[] = ['ouroboros', 'hairpin-proxy']

/** The proxy Service that adopted names lead to: the one named, the only one there is, or the default. */
function targetOf(request: CorednsPlanRequest, given: string | undefined): string {
  const own = request.targets.filter((target) => target !== defaultTarget)
  return given ?? (own.length === 1 ? (own[0] ?? defaultTarget) : defaultTarget)
}

/** What turns a request into one that takes over: every name that the other tool (or we) serve now, all leading to our proxy. */
export function adoptionOf(
  operation: CorednsOperation,
  flags: {readonly target?: string | undefined; readonly exclude?: readonly string[] | undefined},
): ((request: CorednsPlanRequest, dns: DnsState) => CorednsPlanRequest) | undefined {
  if (operation !== 'adopt') return undefined
  const exclude = flags.exclude ?? []
  return (request, dns) => {
    const target = targetOf(request, flags.target)
    const theirs = namesOfOthers(dns)
    const own = publishedInState(dns, 'srcip', request.targets)
    const hosts = new Map(
      [...own, ...theirs].map(({name, kind}) => [
        `${kind} ${name.toLowerCase()}`,
        {name: name.toLowerCase(), kind, target},
      ]),
    )
    return {
      ...request,
      adopt: others,
      hosts: [...hosts.values()].filter(
        ({name}) => !exclude.some((pattern) => isExcludedBy(name, pattern.toLowerCase())),
      ),
      // Lines that lost their markers, in an upgrade or by hand, are found by where they lead.
      targets: [...new Set([...request.targets, ...theirs.map((entry) => entry.target)])],
      wildcards: true,
      // Every name may have been left out by --exclude; which names are wanted was decided by whom we take over from.
      allowEmpty: true,
    }
  }
}

/** Names that ouroboros and hairpin-proxy serve: by their markers, their key, their comment, or their proxy's name. */
function namesOfOthers(dns: DnsState): Published[] {
  const lines = Buffer.from(dns.corefile.bytes).toString('utf8').split('\n')
  const hairpin = lines.filter((line) => line.trimEnd().endsWith(hairpinProxyComment))
  const unmarked = publishedNames(lines).filter(({target}) => /\/(?:ouroboros-proxy|hairpin-proxy)$/.test(target))
  return [...publishedInState(dns, 'ouroboros', []), ...publishedNames(hairpin), ...unmarked]
}
