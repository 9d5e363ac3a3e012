import {atLeast} from '../../directives.ts'
import type {SetupContext} from '../context.ts'
import type {Dispenser} from '../dispenser.ts'
import {readDuration, readInteger} from '../go-values.ts'
import {zonesOfArgument, zonesOrOfBlock} from '../zone-arguments.ts'
import {onlyOnce} from './only-once.ts'
import {fallthroughZones} from './template.ts'

/** The `kubernetes` plugin of a block. */
export interface KubernetesStanza {
  readonly zones: readonly string[]
  /** First zone that is not a reverse zone: the cluster domain. */
  readonly clusterZone: string
  readonly pods: 'disabled' | 'insecure' | 'verified'
  /** Empty: every namespace. */
  readonly namespaces: readonly string[]
  /** Services or namespaces are filtered by labels, which are not known here. */
  readonly selects: boolean
  readonly fallthrough: readonly string[]
  readonly ttl: number
  readonly endpointsCache: boolean
  readonly ignoreEmpty: boolean
  readonly endpointPodNames: boolean
  readonly multicluster: readonly string[]
  readonly line: number
  readonly file: string
}

/** Options by the release that brought them. */
const optionSince: Readonly<Record<string, string>> = {
  multicluster: '1.12.2',
  startup_timeout: '1.12.3',
  apiserver_qps: '1.14.0',
  apiserver_burst: '1.14.0',
  apiserver_max_inflight: '1.14.0',
  zonal: '1.14.7',
}

type Draft = {-readonly [Field in keyof KubernetesStanza]: KubernetesStanza[Field]}

/** In: the tokens of kubernetes directives of a block. Out: the stanza. Throws SetupError. Source: plugin/kubernetes/setup.go. */
export function readKubernetes(dispenser: Dispenser, context: SetupContext): KubernetesStanza {
  let stanza: KubernetesStanza | undefined
  onlyOnce(dispenser, () => {
    stanza = readStanza(dispenser, context)
  })
  return stanza ?? readStanza(dispenser, context)
}

function isReverse(zone: string): boolean {
  return zone.endsWith('.in-addr.arpa.') || zone.endsWith('.ip6.arpa.')
}

function readStanza(dispenser: Dispenser, context: SetupContext): KubernetesStanza {
  const {line = 0, file = ''} = dispenser.token ?? {}
  const zones = zonesOrOfBlock(dispenser.remainingArgs(), context.zones)
  const clusterZone = zones.find((zone) => !isReverse(zone))
  if (clusterZone === undefined) throw dispenser.plain('non-reverse zone name must be used')
  const draft: Draft = {
    zones,
    clusterZone,
    pods: 'disabled',
    namespaces: [],
    selects: false,
    fallthrough: [],
    ttl: 5,
    endpointsCache: true,
    ignoreEmpty: false,
    endpointPodNames: false,
    multicluster: [],
    line,
    file,
  }
  let namespaceLabels = false
  let zonal = false
  while (dispenser.nextBlock()) {
    if (dispenser.value === 'namespace_labels') namespaceLabels = true
    if (dispenser.value === 'zonal') zonal = true
    readOption(dispenser, draft, context)
  }
  if (draft.namespaces.length > 0 && namespaceLabels) {
    throw dispenser.error('namespaces and namespace_labels cannot both be set')
  }
  for (const zone of draft.multicluster) {
    if (zones.includes(zone)) continue
    throw dispenser.error(
      `is not authoritative for the multicluster zone ${zone} (authoritative zones: [${zones.join(' ')}])`,
    )
  }
  if (zonal && !draft.endpointsCache) throw dispenser.error('zonal requires the endpoint cache; remove noendpoints')
  return draft
}

function readOption(dispenser: Dispenser, draft: Draft, context: SetupContext): void {
  const option = dispenser.value
  if (!atLeast(context.version, optionSince[option] ?? '0.0.0')) throw dispenser.error(`unknown property '${option}'`)
  const none = () => {
    if (dispenser.remainingArgs().length > 0) throw dispenser.argumentError()
  }
  const some = () => {
    const args = dispenser.remainingArgs()
    if (args.length === 0) throw dispenser.argumentError()
    return args
  }
  switch (option) {
    case 'endpoint_pod_names':
      none()
      draft.endpointPodNames = true
      return
    case 'pods': {
      const [mode, more] = dispenser.remainingArgs()
      if (mode === undefined || more !== undefined) throw dispenser.argumentError()
      if (mode !== 'disabled' && mode !== 'insecure' && mode !== 'verified') {
        throw dispenser.plain(`wrong value for pods: ${mode},  must be one of: disabled, verified, insecure`)
      }
      draft.pods = mode
      return
    }
    case 'namespaces':
      draft.namespaces = [...draft.namespaces, ...some()]
      return
    case 'endpoint':
      some()
      return
    case 'tls':
      if (dispenser.remainingArgs().length !== 3) throw dispenser.argumentError()
      return
    case 'labels':
    case 'namespace_labels':
      some()
      draft.selects = true
      return
    case 'fallthrough':
      draft.fallthrough = fallthroughZones(dispenser.remainingArgs())
      return
    case 'ttl': {
      const ttl = readInteger(some()[0] ?? '')
      if (!ttl.ok) throw dispenser.plain(ttl.message)
      if (ttl.value < 0 || ttl.value > 3600) throw dispenser.error(`ttl must be in range [0, 3600]: ${ttl.value}`)
      draft.ttl = ttl.value
      return
    }
    case 'noendpoints':
      none()
      draft.endpointsCache = false
      return
    case 'zonal':
      none()
      return
    case 'ignore': {
      const [what] = dispenser.remainingArgs()
      if (what !== undefined && what !== 'empty_service')
        throw dispenser.plain(`unable to parse ignore value: '${what}'`)
      if (what !== undefined) draft.ignoreEmpty = true
      return
    }
    case 'kubeconfig': {
      const args = dispenser.remainingArgs()
      if (args.length !== 1 && args.length !== 2) throw dispenser.argumentError()
      return
    }
    case 'multicluster':
      draft.multicluster = dispenser.remainingArgs().flatMap(zonesOfArgument)
      return
    case 'startup_timeout': {
      const text = some()[0] ?? ''
      const seconds = readDuration(text)
      if (!seconds.ok) throw dispenser.plain(`failed to parse startup_timeout: ${text}, ${seconds.message}`)
      return
    }
    case 'apiserver_qps':
    case 'apiserver_burst':
    case 'apiserver_max_inflight':
      readRate(option, dispenser)
      return
    case 'upstream':
    case 'resyncperiod':
    case 'transfer':
      // Known to old releases only, in forms that differ: not judged below 1.8.
      if (!atLeast(context.version, '1.8.0')) {
        dispenser.remainingArgs()
        context.unclear(`option ${option} of kubernetes`, dispenser.token?.line ?? 0, dispenser.token?.file ?? '')
        return
      }
      throw dispenser.error(`unknown property '${option}'`)
    default:
      throw dispenser.error(`unknown property '${option}'`)
  }
}

function readRate(option: string, dispenser: Dispenser): void {
  const [text, more] = dispenser.remainingArgs()
  if (text === undefined || more !== undefined) throw dispenser.argumentError()
  const value = option === 'apiserver_qps' ? Number(text) : readInteger(text)
  if (typeof value === 'number') {
    if (Number.isNaN(value) || text.trim() === '') {
      throw dispenser.error(
        `invalid ${option} ${JSON.stringify(text)}: strconv.ParseFloat: parsing ${JSON.stringify(text)}: invalid syntax`,
      )
    }
    if (value < 0) throw dispenser.error(`${option} must be >= 0`)
    return
  }
  if (!value.ok) throw dispenser.error(`invalid ${option} ${JSON.stringify(text)}: ${value.message}`)
  if (value.value < 0) throw dispenser.error(`${option} must be >= 0`)
}
