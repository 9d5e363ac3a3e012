import {
  parseCorefile,
  planEdit,
  type EditPlan,
  type EditRequest,
  type HostRefusal,
  type ParsedCorefile,
  type TakenHost,
} from '../../../plugins/coredns/src/index.ts'
import type {CorednsPlan, CorednsRefusal, CorednsTarget, CorednsTextChange} from '../../model/coredns-plan.ts'
import {apiVersion} from '../../model/documents.ts'
import {exitCodes} from '../../model/errors.ts'
import type {DnsChange, DnsState} from '../types.ts'
import {parseOptionsOf} from '../view/parsed-state.ts'
import {locationWarnings, releaseOf, sourceOf} from '../view/show.ts'
import {editorHooks} from './editor-hooks.ts'
import {explainImports, foundKeys, ownImportKeys, type OwnImportKey} from './import-keys.ts'
import {nodeCacheRoutes} from './node-cache.ts'
import {noteLines} from './notes.ts'
import {adoptRefusal, otherToolsOf, ownerRefusal, sizeRefusal, reloadRefusal, type TextRefusal} from './obstacles.ts'
import {probesFor} from './probes.ts'
import {conflictCodes, type RefusalCode} from './refusals.ts'
import type {CorednsPlanRequest, PlanHost} from './request.ts'
import {checkTarget, clusterDomainOf, readTarget, type ReadTarget} from './targets.ts'
import {writesOf} from './writes.ts'

/** A planned change of cluster DNS, complete and pure: what to show, what to write, what will prove it. */
export interface CorednsChange {
  readonly document: CorednsPlan
  /** Whole texts that change, before and after, for diffs. */
  readonly texts: readonly CorednsTextChange[]
  /** Bytes of the Corefile afterwards; as they are when it does not change. Absent when nothing could be taken. */
  readonly corefile?: Uint8Array
  /** What to write and prove on a cluster; absent when there is nothing to write. */
  readonly change?: DnsChange
  /** What proves that the wanted set stands, written or not. */
  readonly standing: DnsChange
}

/** Where `hosts` of the editor come from, and what became of the others before it was asked. */
interface SortedHosts {
  readonly wanted: readonly (PlanHost & {readonly fqdn: string})[]
  readonly refused: readonly CorednsRefusal[]
  readonly targets: ReadonlyMap<string, CorednsTarget>
}

/**
 * Plans a change of cluster DNS: which server block and which place each host gets, and why others are refused. Pure: the state
 * holds all that is known. Never throws for what stands in a Corefile; a refusal of the whole text is a document with exit code
 * 32 (33 where somebody else owns it) and one entry `*` in `refused`.
 */
export function planCorednsChange(state: DnsState, request: CorednsPlanRequest): CorednsChange {
  const parse = parseOptionsOf(state)
  const parsed = parseCorefile(state.corefile.bytes, parse)
  const clusterDomain = request.clusterDomain ?? clusterDomainOf(parsed) ?? 'cluster.local'
  const warnings = startWarnings(state, request, parsed)
  const sorted = sortHosts(state, request, clusterDomain)
  const keys =
    state.location === undefined ? [] : ownImportKeys(parsed, state.location.mounts, request.owner ?? 'srcip')
  const adopted =
    request.adopt?.includes('ouroboros') === true && state.location !== undefined
      ? foundKeys(state.files.keys(), state.location.mounts, 'ouroboros')
      : []
  const targets = request.targets.map((name) => readTarget(name, clusterDomain)).flatMap(({fqdn}) => fqdn ?? [])
  const base: Omit<EditRequest, 'hosts'> = {
    corefile: state.corefile.bytes,
    parse,
    spared: request.spared ?? [],
    owner: request.owner ?? 'srcip',
    adopt: request.adopt ?? [],
    targets,
    importKeys: keys.map((key) => key.path),
    adoptKeys: adopted.map((key) => key.path),
    place: request.mode === 'corefile' ? 'corefile' : 'auto',
    wildcards: request.wildcards === true || request.operation === 'clean',
    before: request.before === true,
    repair: request.repair === true,
    allowEmpty: request.allowEmpty === true || request.operation === 'clean',
    clusterDomain,
    unknownImports: state.origin === 'file' ? 'warn' : 'refuse',
    ...(state.location === undefined ? {} : {dnsPort: String(state.location.dnsPort)}),
    ...editorHooks,
  }
  const {plan, refused} = planWithin(state, request, parsed, keys, base, sorted)
  const context = {state, request, clusterDomain, sorted, keys: [...keys, ...adopted]}
  const obstacle = textObstacle(context, plan, refused)
  if (obstacle !== undefined) return refusedChange(context, warnings, obstacle)
  return acceptedChange(context, plan, refused, warnings)
}

interface Context {
  readonly state: DnsState
  readonly request: CorednsPlanRequest
  readonly clusterDomain: string
  readonly sorted: SortedHosts
  readonly keys: readonly OwnImportKey[]
}

function startWarnings(state: DnsState, request: CorednsPlanRequest, parsed: ParsedCorefile): string[] {
  const warnings: string[] = []
  const unknownDomain = request.clusterDomain === undefined && clusterDomainOf(parsed) === undefined
  if (unknownDomain && request.operation === 'apply' && parsed.error === undefined) {
    warnings.push('no kubernetes line names a cluster domain: cluster.local is assumed (--cluster-domain)')
  }
  if (state.origin === 'file') {
    if (request.operation === 'apply') warnings.push('target not checked: no cluster is asked with -f')
    return warnings
  }
  if (!state.versionKnown)
    warnings.push(
      `the image ${state.location?.container.image ?? ''} does not tell the version of CoreDNS: ${state.version} is assumed (--coredns-version)`,
    )
  return state.location === undefined ? warnings : [...warnings, ...locationWarnings(state.location)]
}

/** Targets first: a host whose target is unfit never reaches the editor. */
function sortHosts(state: DnsState, request: CorednsPlanRequest, clusterDomain: string): SortedHosts {
  const wanted: (PlanHost & {fqdn: string})[] = []
  const refused: CorednsRefusal[] = []
  const targets = new Map<string, CorednsTarget>()
  const checked = new Map<string, {readonly read: ReadTarget; readonly check: ReturnType<typeof checkTarget>}>()
  const nodeLocal = state.location?.nodeLocal
  const reaches =
    nodeLocal === undefined ? () => true : nodeCacheRoutes(nodeLocal, state.location?.service.clusterIPs ?? [])
  const refuse = (host: PlanHost, code: RefusalCode, reason: string, remedy: string): void =>
    void refused.push({name: host.name, code, reason, remedy})
  for (const {name, reason} of request.invalid ?? []) {
    refused.push({name, code: 'InvalidName', reason: `${JSON.stringify(name)} ${reason}`, remedy: 'correct the name'})
  }
  for (const host of request.hosts) {
    const known = checked.get(host.target) ?? checkOne(host.target, clusterDomain, state)
    checked.set(host.target, known)
    const {target, refusal} = known.check
    const circle = request.circles?.get(host.name)
    if (refusal !== undefined) refuse(host, refusal.code, refusal.reason, refusal.remedy)
    else if (circle !== undefined) {
      refuse(
        host,
        'HostCircle',
        `${host.name} leads back to itself: ${circle.join(' -> ')}`,
        'point the ExternalName Service at something else, or exclude the host',
      )
    } else if (!reaches(host.name) && nodeLocal !== undefined) {
      const header = `configmap/${nodeLocal.namespace}/${nodeLocal.configMap ?? nodeLocal.daemonSet}`
      refuse(
        host,
        'NodeLocalDnsAnswersFirst',
        `daemonset/${nodeLocal.namespace}/${nodeLocal.daemonSet} (NodeLocal DNSCache on ${nodeLocal.addresses.join(', ')}) sends ${host.name} upstream, CoreDNS is never asked`,
        `add ${host.name.replace(/^\*\./, '')}:53 to the header of the block for ${clusterDomain}:53 in ${header}, then run this again`,
      )
    } else {
      targets.set(target.fqdn, target)
      wanted.push({...host, fqdn: target.fqdn})
    }
  }
  return {wanted, refused, targets}
}

function checkOne(name: string, clusterDomain: string, state: DnsState) {
  const read = readTarget(name, clusterDomain)
  return {read, check: checkTarget(read, state.services)}
}

/** Runs the editor; hosts that would land where they may not (an owned Corefile, or outside an import key) are refused and it runs again. */
function planWithin(
  state: DnsState,
  request: CorednsPlanRequest,
  parsed: ParsedCorefile,
  keys: readonly OwnImportKey[],
  base: Omit<EditRequest, 'hosts'>,
  sorted: SortedHosts,
): {plan: EditPlan; refused: readonly CorednsRefusal[]} {
  const hosts = sorted.wanted.map(({name, kind, fqdn}) => ({name, kind, target: fqdn}))
  const plan = planEdit({...base, hosts})
  if (plan.refusal !== undefined || request.operation === 'clean') return {plan, refused: []}
  const misplaced = plan.taken.filter((host) => host.blocks.some((block) => block.place === ''))
  const why = misplaced.length === 0 ? undefined : placeRefusal(state, request, parsed, keys, plan)
  if (why === undefined) return {plan, refused: []}
  const names = new Set(misplaced.map((host) => `${host.kind} ${host.name}`))
  const rest = hosts.filter((host) => !names.has(`${host.kind} ${host.name}`))
  return {
    // nothing is left: the text stays as it is, lines of ours included
    plan: rest.length === 0 ? {...plan, files: [], edits: [], taken: []} : planEdit({...base, hosts: rest}),
    refused: misplaced.map((host) => ({name: host.name, ...why})),
  }
}

function placeRefusal(
  state: DnsState,
  request: CorednsPlanRequest,
  parsed: ParsedCorefile,
  keys: readonly OwnImportKey[],
  plan: EditPlan,
): Omit<CorednsRefusal, 'name'> | undefined {
  if (request.mode === 'import') {
    const {reason, remedy} = explainImports(parsed, state.location?.mounts ?? [], request.owner ?? 'srcip')
    return {code: 'ImportKeyNotRead', reason, remedy}
  }
  const changesCorefile = plan.files.some((file) => file.file === '')
  return changesCorefile && request.force !== true
    ? ownerRefusal(state, request.mode === 'corefile' ? [] : keys)
    : undefined
}

/** Why nothing at all is written. */
function textObstacle(context: Context, plan: EditPlan, placed: readonly CorednsRefusal[]): TextRefusal | undefined {
  const {state, request} = context
  const refusal = plan.refusal
  if (refusal !== undefined) {
    const where = refusal.file === '' ? textName(state) : refusal.file
    const line = refusal.line === undefined ? {} : {line: refusal.line}
    return {
      code: refusal.code,
      reason: `${where}${refusal.line === undefined ? '' : ` line ${refusal.line}`}: ${refusal.reason}`,
      remedy: refusal.remedy,
      ...line,
    }
  }
  const all = [...context.sorted.refused, ...placed, ...plan.refused.map((host) => refusalOf(host, state))]
  const incomplete = (request.adopt ?? []).length === 0 ? undefined : adoptRefusal(all)
  if (incomplete !== undefined) return incomplete
  if (placed.length > 0 && plan.taken.length === 0) return undefined
  return (
    (request.operation === 'apply' && (request.adopt ?? []).length === 0
      ? otherToolsOf(state, plan, request.owner ?? 'srcip')
      : undefined) ??
    reloadRefusal(state, plan, request.restartCoredns === true) ??
    sizeRefusal(state, plan, context.keys)
  )
}

function textName(state: DnsState): string {
  return state.origin === 'file'
    ? state.corefile.key === '-'
      ? 'stdin'
      : state.corefile.key
    : `${state.corefile.source} key ${state.corefile.key}`
}

function refusedChange(context: Context, warnings: readonly string[], obstacle: TextRefusal): CorednsChange {
  const {sorted} = context
  const refused: CorednsRefusal[] = [{name: '*', ...obstacle}, ...sorted.refused]
  const document = documentOf(context, {
    hosts: [],
    refused,
    edits: [],
    hash: {sha512: null, unknown: []},
    warnings,
    exitCode: conflictCodes.has(obstacle.code) ? exitCodes.Conflict : exitCodes.Precondition,
  })
  return {document, texts: [], standing: {writes: [], hash: null, probes: [], reloads: false}}
}

function acceptedChange(
  context: Context,
  plan: EditPlan,
  placed: readonly CorednsRefusal[],
  warnings: readonly string[],
): CorednsChange {
  const {state, request, sorted, keys} = context
  const uncovered = plan.refused.filter((host) => host.code === 'WildcardsOff')
  const refused = [
    ...sorted.refused,
    ...placed,
    ...plan.refused.filter((host) => host.code !== 'WildcardsOff').map((host) => refusalOf(host, state)),
  ]
  const hosts = plan.taken.flatMap((host) => hostEntries(host))
  const wanted = hosts.length + refused.length
  const nothingTaken = refused.length > 0 && hosts.length === 0
  const files = nothingTaken ? [] : plan.files
  const writes = writesOf(state, files, keys)
  const main = files.find((file) => file.file === '')
  const hash = plan.hash.value
  const standing: DnsChange = {
    writes: [],
    hash,
    probes: probesFor(plan, sorted.targets, ownAddresses(context)),
    reloads: plan.reloads,
  }
  const document = documentOf(context, {
    hosts: nothingTaken ? [] : hosts,
    refused,
    edits: nothingTaken
      ? []
      : plan.edits.map((edit) => ({
          ...editPlace(state, keys, edit.file),
          offset: edit.offset,
          removed: edit.removed,
          inserted: edit.inserted,
        })),
    hash: {
      sha512: plan.hash.algorithm === 'sha512' ? hash : null,
      unknown: plan.hash.unknown.map((unknown) => `${unknown.kind} ${unknown.name}`),
    },
    warnings: [
      ...warnings,
      ...uncovered.map((host) => `${host.name} is not covered: it is a wildcard (--wildcards takes it)`),
      ...noteLines(plan.notes, state),
      ...ownerWarnings(state, request, files.length > 0 && main !== undefined),
      ...(wanted === 0 && uncovered.length === 0 && request.operation === 'apply' ? ['no host is wanted'] : []),
    ],
    exitCode: exitCodeFor(refused, nothingTaken),
  })
  return {
    document,
    texts: files.map((file) => ({
      ...placeOf(state, keys, file.file),
      before: file.before === undefined ? null : Buffer.from(file.before).toString('utf8'),
      after: file.after === null ? null : Buffer.from(file.after).toString('utf8'),
    })),
    ...(nothingTaken ? {} : {corefile: main?.after ?? state.corefile.bytes}),
    ...(writes.length === 0 ? {} : {change: {...standing, writes}}),
    standing,
  }
}

/** Addresses of every proxy Service of ours that was read: what a name that was taken out must not answer any more. */
function ownAddresses({state, request, clusterDomain, sorted}: Context): string[] {
  const named = request.targets.flatMap(
    (name) => checkTarget(readTarget(name, clusterDomain), state.services ?? new Map()).target?.addresses ?? [],
  )
  return [...new Set([...named, ...[...sorted.targets.values()].flatMap((target) => target.addresses)])]
}

function exitCodeFor(refused: readonly CorednsRefusal[], nothingTaken: boolean): number {
  if (refused.length === 0) return exitCodes.Ok
  if (!nothingTaken) return exitCodes.Partial
  return refused.some((entry) => conflictCodes.has(entry.code)) ? exitCodes.Conflict : exitCodes.Precondition
}

function ownerWarnings(state: DnsState, request: CorednsPlanRequest, changesCorefile: boolean): string[] {
  const owner = state.location?.owner
  if (owner === undefined || !changesCorefile || request.operation === 'clean') return []
  return [
    `${state.corefile.source} belongs to ${owner.title} (${owner.evidence.join(', ')}): the change lasts ${owner.lasts}`,
  ]
}

function hostEntries(host: TakenHost) {
  const {name, kind, target, form} = host
  return host.blocks.map((block) => ({name, kind, target, form, block: {keys: block.keys, line: block.line}}))
}

function refusalOf(host: HostRefusal, state: DnsState): CorednsRefusal {
  const {name, code, reason, remedy, line, file} = host
  const where =
    line === undefined || reason.startsWith('line ')
      ? ''
      : `${file === undefined || file === '' ? '' : `${file} `}line ${line}: `
  return {
    name,
    code,
    reason: `${where}${reason}`,
    remedy,
    ...(line === undefined || (file !== undefined && file !== '' && state.origin === 'file') ? {} : {line}),
  }
}

function placeOf(state: DnsState, keys: readonly OwnImportKey[], file: string): {source: string; key: string} {
  const own = keys.find((key) => key.path === file)
  return own === undefined
    ? {source: state.corefile.source, key: state.corefile.key}
    : {source: `configmap/${own.mount.namespace}/${own.mount.configMap}`, key: own.key}
}

/** Where an edit of the document lies, in the words of `sources[]`. */
function editPlace(state: DnsState, keys: readonly OwnImportKey[], file: string): {source: string; key: string} {
  const source = sourceOf(state)
  return 'file' in source && source.file !== undefined
    ? {source: source.file, key: source.key}
    : placeOf(state, keys, file)
}

function documentOf(
  {state, clusterDomain, sorted, keys}: Context,
  part: Pick<CorednsPlan, 'hosts' | 'refused' | 'edits' | 'hash' | 'warnings' | 'exitCode'>,
): CorednsPlan {
  return {
    apiVersion,
    kind: 'CorednsPlan',
    sources: [
      sourceOf(state),
      ...keys.map(({mount, key: own}) => ({
        object: `configmap/${mount.namespace}/${mount.configMap}`,
        key: own,
        ...(mount.resourceVersion === undefined ? {} : {resourceVersion: mount.resourceVersion}),
      })),
    ],
    targets: [...sorted.targets.values()],
    coredns: {...releaseOf(state), clusterDomain},
    ...part,
    changed: part.edits.length > 0,
  }
}
