import {dnsPortOf} from '../block-choice.ts'
import {atLeast} from '../directives.ts'
import {parseCorefile} from '../parser.ts'
import {hashOfParsed} from '../reload-hash.ts'
import {inspectKeys, type InspectedKeys} from '../server-keys.ts'
import {zonesOfBlock} from '../setup/check-setup.ts'
import {zonesOfArgument} from '../setup/zone-arguments.ts'
import {fqdn} from '../simulate/dns-name.ts'
import {prepareHostAnswers} from '../simulate/host-answers.ts'
import type {FileRefusal, HostRefusal, ParsedCorefile, ParseOptions, WantedHost} from '../types.ts'
import {applyEdits, lineEdits, type Insertion} from './byte-edits.ts'
import {checkFile, checkSize, loadError, refuseFile} from './file-checks.ts'
import {isHostName, sortHosts} from './host-checks.ts'
import {placeHosts, type HostPlaces} from './host-places.ts'
import {findMarkers, type MarkerDamage} from './markers.ts'
import {sectionText, spotIn} from './place.ts'
import {differenceButOurs, type ExpectedRules} from './post-condition.ts'
import {readPresentState, type PresentState} from './present.ts'
import type {EditNote, EditPlan, EditRequest, FileChange, TakenHost} from './request.ts'
import {exactLimit, ruleTexts, type RuleText} from './rule-text.ts'

/**
 * Plans what must change in a Corefile (and import keys of ours) so that exactly the wanted names are answered with
 * their targets. Pure: the same request gives the same bytes.
 *
 * @returns edits by byte offset, the new bytes, and for every name where it went or why it was refused; with `refusal`
 *   the file is not to be touched at all
 */
export function planEdit(request: EditRequest): EditPlan {
  return new Planner(request).plan()
}

/** The edit that takes everything of ours out: an empty wanted set, on purpose. */
export function planRemoval(request: Omit<EditRequest, 'hosts' | 'allowEmpty' | 'spared'>): EditPlan {
  return planEdit({...request, hosts: [], allowEmpty: true})
}

/** Whether any server block loads the `reload` plugin, directly or through an import: one is enough for the whole process. */
export function hasReload(parsed: ParsedCorefile): boolean {
  return parsed.blocks.some((block) => block.tokens.has('reload'))
}

/** Zones that the `kubernetes` plugin of any block serves, normalised; the root zone and reverse zones left out. */
export function clusterZonesOf(parsed: ParsedCorefile): string[] {
  const zones = parsed.blocks.flatMap((block) =>
    block.directives
      .filter(({name}) => name === 'kubernetes')
      .flatMap(({tokens}) => {
        const brace = tokens.findIndex(({text}, index) => index > 0 && text === '{')
        const args = tokens.slice(1, brace === -1 ? undefined : brace).map(({text}) => text)
        return args.length === 0 ? zonesOfBlock(block) : args.flatMap(zonesOfArgument)
      }),
  )
  return [...new Set(zones)].filter((zone) => zone !== '.' && !zone.endsWith('.arpa.'))
}

/** What the edit wants to be in the files, before it is proved. */
interface Draft {
  readonly edits: EditPlan['edits']
  readonly corefile: Uint8Array
  readonly keys: readonly FileChange[]
  readonly expected: ExpectedRules
}

class Planner {
  private readonly request: EditRequest
  private readonly parse: ParseOptions
  private readonly parsed: ParsedCorefile
  private readonly inspected: InspectedKeys
  private readonly files: ReadonlyMap<string, Uint8Array>
  private readonly owner: NonNullable<EditRequest['owner']>
  private readonly owners: readonly NonNullable<EditRequest['adopt']>[number][]

  constructor(request: EditRequest) {
    this.request = request
    this.parse = {...request.parse, directives: true}
    this.files = request.parse?.files ?? new Map()
    this.parsed = parseCorefile(request.corefile, this.parse)
    this.inspected = inspectKeys(this.parsed)
    this.owner = request.owner ?? 'srcip'
    this.owners = [...new Set([this.owner, ...(request.adopt ?? [])])]
  }

  plan(): EditPlan {
    const {request, parsed} = this
    const refusal = checkSize(request.corefile, '') ?? checkFile(parsed, this.inspected, request)
    if (refusal) return this.refused(refusal)
    const sorted = sortHosts(request.hosts, {
      clusterZones: [
        ...clusterZonesOf(parsed),
        ...(request.clusterDomain ? [fqdn(request.clusterDomain).toLowerCase()] : []),
      ],
      wildcards: request.wildcards ?? false,
      wildcardsSupported: atLeast(parsed.version, '1.8.4'),
    })
    const present = this.present(sorted.accepted)
    if (present.markers.damage.length > 0 && !request.repair) return this.refused(damaged(present.markers.damage))
    if (request.hosts.length === 0 && present.ours.size > 0 && !request.allowEmpty) {
      const reason = `no name is wanted, which would take all ${present.ours.size} rules of ours out`
      return this.refused(refuseFile('EmptySet', reason, 'repeat with --allow-empty if that is meant'))
    }
    const placed = placeHosts(parsed, sorted.accepted, {
      importKeys: request.place === 'corefile' ? [] : (request.importKeys ?? []),
      ours: present.ours,
      before: request.before ?? false,
      dnsPort: request.dnsPort ?? dnsPortOf(this.inspected) ?? '53',
      answers: request.answers ?? prepareHostAnswers,
    })
    const refusedHosts = [...sorted.refused, ...placed.refused].sort((a, b) => (a.name < b.name ? -1 : 1))
    // With nothing to take, nothing is written: the rules that stand stay as they are.
    if (request.hosts.length > 0 && placed.taken.size === 0) return this.unchanged(refusedHosts)
    return this.proved(present, placed, refusedHosts)
  }

  private present(hosts: readonly WantedHost[]): PresentState {
    const targets = [...hosts.map(({target}) => target), ...(this.request.targets ?? [])]
    return readPresentState(this.parsed, this.request.corefile, {
      owners: this.owners,
      importKeys: [...(this.request.importKeys ?? []), ...(this.request.adoptKeys ?? [])],
      files: this.files,
      targets: new Set(targets.map((target) => fqdn(target).toLowerCase())),
    })
  }

  /** Makes the new bytes, reads them anew and compares. */
  private proved(present: PresentState, placed: HostPlaces, refused: readonly HostRefusal[]): EditPlan {
    const {parsed, request} = this
    const rules = new Map(placed.places.map(({place, hosts}) => [place.id, this.rules(hosts)]))
    const draft = this.draft(present, placed, rules)
    const files = new Map(this.files)
    for (const {file, after} of draft.keys) {
      if (after) files.set(file, after)
      else files.delete(file)
    }
    const after = parseCorefile(draft.corefile, {...this.parse, files})
    const difference = differenceButOurs(parsed, after, draft.corefile, present.ours, draft.expected, this.owner)
    if (difference !== undefined) {
      const reason = `the edit would change more than our lines: ${difference}`
      return this.refused(refuseFile('WouldChangeOthers', reason, 'report this with the Corefile; nothing was written'))
    }
    const error = loadError(after, inspectKeys(after), request)
    if (error) {
      const reason = `with our lines CoreDNS would refuse the file: ${error.message}`
      return this.refused(refuseFile('WouldChangeOthers', reason, 'report this with the Corefile; nothing was written'))
    }
    const size =
      checkSize(draft.corefile, '') ??
      draft.keys.map(({after: text, file}) => text && checkSize(text, file)).find(Boolean)
    if (size) return this.refused(size)
    const changes: FileChange[] = draft.keys.filter(isChange)
    if (draft.edits.some(({file}) => file === '')) {
      changes.unshift({file: '', before: request.corefile, after: draft.corefile})
    }
    const notes = [...present.notes, ...placed.notes, ...this.generalNotes(after, present, placed, changes)]
    const taken = takenHosts(placed, rules)
    return {
      files: changes,
      edits: draft.edits,
      taken,
      refused,
      notes,
      hash: hashOfParsed(after),
      reloads: hasReload(after),
    }
  }

  private rules(hosts: readonly WantedHost[]): RuleText[] {
    const names = new Set(hosts.filter(({kind}) => kind === 'exact').map(({name}) => name))
    const wild = hosts.filter(({kind}) => kind !== 'exact').map(({name}) => name.slice(1))
    const spared = (this.request.spared ?? [])
      .map((name) => name.replace(/\.$/, '').toLowerCase())
      .filter((name) => isHostName(name) && !names.has(name) && wild.some((suffix) => name.endsWith(suffix)))
    return ruleTexts({hosts, spared: [...new Set(spared)], mayPack: atLeast(this.parsed.version, '1.8.4')})
  }

  private draft(present: PresentState, placed: HostPlaces, rules: ReadonlyMap<string, readonly RuleText[]>): Draft {
    const {parsed, request, owner} = this
    const insertions: Insertion[] = []
    const inCorefile = new Map<number, readonly string[]>()
    const inKeys = new Map<string, readonly string[]>()
    for (const {place} of placed.places) {
      const own = rules.get(place.id) ?? []
      if (place.kind === 'key') {
        inKeys.set(
          place.path,
          own.map(({text}) => text),
        )
        continue
      }
      const spot = spotIn(place.block, present.map, present.ours, parsed.imports)
      insertions.push({at: spot.at, text: sectionText(own, owner, spot)})
      inCorefile.set(
        place.block.index,
        own.map(({text}) => text),
      )
    }
    const edits = lineEdits('', present.map, present.removals, insertions)
    const keys = [...(request.importKeys ?? []), ...(request.adoptKeys ?? [])].map((path) => {
      const place = placed.places.find((one) => one.place.id === path)?.place
      return this.keyChange(path, place ? (rules.get(path) ?? []) : [], present.keptInKeys.get(path) ?? '')
    })
    return {
      edits: [...edits, ...keys.filter(isChange).map(keyEdit)],
      corefile: applyEdits(request.corefile, edits),
      keys,
      expected: {inCorefile, inKeys},
    }
  }

  /** The whole text of an import key: our section, then what others wrote into it. */
  private keyChange(path: string, rules: readonly RuleText[], kept: string): FileChange {
    const before = this.files.get(path)
    const section = rules.length === 0 ? '' : sectionText(rules, this.owner, {indent: '', eol: '\n'})
    const text = section + kept
    if (text !== '') return {file: path, before, after: new TextEncoder().encode(text)}
    if (before === undefined) return {file: path, before, after: null}
    // An import by its plain name fails without the file, so an empty one stays.
    const plain = this.parsed.imports.some(({kind, resolved}) => kind === 'file' && resolved === path)
    return {file: path, before, after: plain ? new Uint8Array() : null}
  }

  private generalNotes(
    after: ParsedCorefile,
    present: PresentState,
    placed: HostPlaces,
    changes: readonly FileChange[],
  ): EditNote[] {
    const notes: EditNote[] = []
    if (!hasReload(after))
      notes.push({
        code: 'NoReload',
        text: 'no server block loads reload: CoreDNS reads this file at its next start only',
      })
    // Of the file as it was given: its lines are those that the reader can look up.
    for (const {kind, name, file, line} of this.parsed.unknowns) {
      const code = kind === 'env' ? 'UnknownEnvironment' : 'UnreadableImport'
      const text = kind === 'env' ? `the value of ${name} is not known` : `what "import ${name}" brings in is not known`
      notes.push({code, text, at: {file, line, text: name}})
    }
    const others = (['srcip', 'ouroboros'] as const).filter((one) => !this.owners.includes(one))
    for (const {owner, number, line} of findMarkers(this.parsed, present.map, others).lines) {
      notes.push({
        code: 'OtherOwner',
        text: `markers of ${owner}`,
        at: {file: '', line: number, text: present.map.text(line).trim()},
      })
    }
    for (const {line, text} of present.markers.damage) {
      notes.push({code: 'MarkersRepaired', text, at: {file: '', line, text: ''}})
    }
    const [corefile] = changes
    if (corefile?.file === '' && present.markers.damage.length === 0) {
      for (const {begin, block} of present.markers.sections) {
        const stays = placed.places.some(({place}) => place.kind === 'corefile' && place.block === block)
        if (!stays || spotIn(block, present.map, present.ours, this.parsed.imports).at === begin.line.start) continue
        const text = 'our section stood further down and moves behind the opening brace'
        notes.push({code: 'SectionMoved', text, at: {file: '', line: begin.number, text: ''}})
      }
    }
    return notes
  }

  private refused(refusal: FileRefusal): EditPlan {
    return {...this.unchanged([]), refusal}
  }

  private unchanged(refused: readonly HostRefusal[]): EditPlan {
    const {parsed} = this
    return {files: [], edits: [], taken: [], refused, notes: [], hash: hashOfParsed(parsed), reloads: hasReload(parsed)}
  }
}

function damaged(damage: readonly MarkerDamage[]): FileRefusal {
  const reason = `the marker lines are damaged: ${damage.map(({text}) => text).join('; ')}`
  return refuseFile('MarkersDamaged', reason, 'repeat with --repair to see and make the repair', {
    file: '',
    line: damage[0]?.line ?? 0,
  })
}

function isChange({before, after}: FileChange): boolean {
  if (before === undefined || after === null) return before !== undefined || after !== null
  return before.length !== after.length || before.some((byte, index) => byte !== after[index])
}

function keyEdit({file, before, after}: FileChange): EditPlan['edits'][number] {
  const decoder = new TextDecoder('utf-8', {ignoreBOM: true})
  return {file, offset: 0, removed: decoder.decode(before), inserted: decoder.decode(after ?? undefined)}
}

function takenHosts({places, taken}: HostPlaces, rules: ReadonlyMap<string, readonly RuleText[]>): TakenHost[] {
  const where = new Map<WantedHost, TakenHost['blocks'][number][]>()
  const packed = new Set<WantedHost>()
  for (const {place, blocks, hosts} of places) {
    const isPacked = hosts.length > exactLimit && (rules.get(place.id) ?? []).some(({form}) => form === 'packed')
    const entries = blocks.map((block) => ({
      keys: block.keys,
      line: (block.open ?? block.keyTokens[0])?.line ?? 0,
      place: place.kind === 'key' ? place.path : '',
    }))
    for (const host of hosts) {
      if (isPacked) packed.add(host)
      const list = where.get(host)
      if (list) list.push(...entries)
      else where.set(host, [...entries])
    }
  }
  return [...taken.keys()].map((host): TakenHost => {
    const form = host.kind !== 'exact' ? 'wildcard' : packed.has(host) ? 'packed' : 'exact'
    return {...host, form, blocks: where.get(host) ?? []}
  })
}
