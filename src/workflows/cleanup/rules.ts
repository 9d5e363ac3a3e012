import {SrcipError} from '../../model/errors.ts'
import type {OwnObject, Traces} from './ports.ts'

/** Later kinds lean on earlier ones less than the other way round: what runs goes first, its account last. */
const kindOrder = [
  'deployment',
  'job',
  'pod',
  'poddisruptionbudget',
  'networkpolicy',
  'podmonitor',
  'prometheusrule',
  'service',
  'configmap',
  'rolebinding',
  'clusterrolebinding',
  'role',
  'clusterrole',
  'serviceaccount',
]

/**
 * The order in which objects are deleted: what publishes names first, then controllers before proxies (they would write
 * again), then by kind, then by name.
 */
export function deletionOrder(objects: readonly OwnObject[]): OwnObject[] {
  const rank = (object: OwnObject): number => {
    if (object.isRecord === true) return -1
    const kind = kindOrder.indexOf(object.text.split('/')[0] ?? '')
    return (kind < 0 ? kindOrder.length : kind) * 2 + (object.component === 'controller' ? 0 : 1)
  }
  return objects.toSorted((a, b) => rank(a) - rank(b) || (a.text < b.text ? -1 : 1))
}

/** Why nothing may be touched, or undefined. A live holder of the Lease is found out when the lock is taken. */
export function conflictsWith(
  traces: Traces,
  options: {
    readonly dnsOnly: boolean
    readonly stopRun: boolean
    readonly evenInUse: boolean
    readonly dryRun: 'none' | 'client' | 'server'
  },
): SrcipError | undefined {
  const releases = [...new Set(traces.objects.flatMap((object) => object.release ?? []))].toSorted()
  if (!options.dnsOnly && releases.length > 0) return ownedByHelm(traces, releases)
  const [first] = traces.served
  if (first !== undefined && traces.lines > 0 && !options.evenInUse) {
    return new SrcipError(
      'Precondition',
      `the names in cluster DNS are in use: service/${first.service} has ${first.readyEndpoints} ready ${first.readyEndpoints === 1 ? 'endpoint' : 'endpoints'}, so an ingress takes the PROXY header now`,
      {
        object: `service/${first.service}`,
        hints: [
          'without these lines, pods that call the names reach the ingress without a header and are cut while it demands one',
          'add --even-in-use when that is meant',
        ],
      },
    )
  }
  return undefined
}

function ownedByHelm(traces: Traces, releases: readonly string[]): SrcipError {
  const owned = traces.objects.filter((object) => object.release !== undefined)
  const uninstall = releases.map((release) => {
    const [namespace, name] = release.split('/')
    return `helm uninstall ${name} -n ${namespace}`
  })
  return new SrcipError(
    'Precondition',
    `Helm owns ${owned.length} of these objects (${owned[0]?.text}${owned.length > 1 ? ', …' : ''}): they go with the release`,
    {
      ...(owned[0] === undefined ? {} : {object: owned[0].text}),
      hints: [
        ...uninstall,
        'when its hook fails: kubectl srcip cleanup --dns-only --stop-run --even-in-use',
        ...uninstall.map((line) => `then: ${line} --no-hooks`),
      ],
    },
  )
}
