import type {
  Directive,
  HostAnswer,
  HostRefusal,
  ParsedCorefile,
  PrepareHostAnswers,
  ServerBlock,
  WantedHost,
} from '../types.ts'
import {isEditable} from './file-checks.ts'
import {refuseHost} from './host-checks.ts'
import {answersName, readNameRule, type NameRule} from './our-rules.ts'
import {placeOf, standsBefore, type Place} from './place.ts'
import type {EditNote} from './request.ts'

/** The hosts whose rules go to one place, and the blocks that read them there. */
export interface PlacedHosts {
  readonly place: Place
  readonly blocks: readonly ServerBlock[]
  readonly hosts: readonly WantedHost[]
}

export interface HostPlaces {
  readonly places: readonly PlacedHosts[]
  /** Hosts that are taken, with their blocks. */
  readonly taken: ReadonlyMap<WantedHost, readonly ServerBlock[]>
  readonly refused: readonly HostRefusal[]
  readonly notes: readonly EditNote[]
}

export interface PlaceOptions {
  readonly importKeys: readonly string[]
  readonly ours: ReadonlySet<Directive>
  readonly before: boolean
  readonly dnsPort: string
  readonly answers: PrepareHostAnswers
}

/** Finds for every host the blocks that can answer it and the place of its rule in each, or why it cannot be taken. */
export function placeHosts(parsed: ParsedCorefile, hosts: readonly WantedHost[], options: PlaceOptions): HostPlaces {
  const placer = new Placer(parsed, options)
  for (const host of hosts) placer.add(host)
  return placer
}

class Placer implements HostPlaces {
  readonly taken = new Map<WantedHost, readonly ServerBlock[]>()
  readonly refused: HostRefusal[] = []
  readonly notes: EditNote[] = []
  private readonly parsed: ParsedCorefile
  private readonly options: PlaceOptions
  private readonly answer: ReturnType<PrepareHostAnswers>
  private readonly placeOfBlock = new Map<ServerBlock, Place>()
  private readonly ourRules = new Map<ServerBlock, {directive: Directive; rule: NameRule}[]>()
  private readonly collected = new Map<string, {place: Place; blocks: Set<ServerBlock>; hosts: Set<WantedHost>}>()

  constructor(parsed: ParsedCorefile, options: PlaceOptions) {
    this.parsed = parsed
    this.options = options
    this.answer = options.answers(parsed, {dnsPort: options.dnsPort})
  }

  get places(): PlacedHosts[] {
    return [...this.collected.values()].map(({place, blocks, hosts}) => ({
      place,
      blocks: [...blocks],
      hosts: [...hosts],
    }))
  }

  add(host: WantedHost): void {
    const answer = this.answer({host, ours: (directive) => this.options.ours.has(directive)})
    const blocks = answer.blocks.map((index) => this.parsed.blocks[index] as ServerBlock)
    const refusal = answer.refusal ?? this.obstacle(host, blocks, answer)
    if (refusal) {
      this.refused.push(refusal)
      return
    }
    this.taken.set(host, blocks)
    for (const block of blocks) {
      const place = this.place(block)
      const found = this.collected.get(place.id)
      if (found) {
        found.blocks.add(block)
        found.hosts.add(host)
      } else this.collected.set(place.id, {place, blocks: new Set([block]), hosts: new Set([host])})
    }
  }

  private place(block: ServerBlock): Place {
    const known = this.placeOfBlock.get(block)
    if (known) return known
    const place = placeOf(this.parsed, block, this.options.importKeys)
    this.placeOfBlock.set(block, place)
    return place
  }

  private obstacle(host: WantedHost, blocks: readonly ServerBlock[], answer: HostAnswer): HostRefusal | undefined {
    if (blocks.length === 0) {
      const unread = this.parsed.imports.find((use) => use.kind === 'unknown' && use.block >= 0)
      if (unread) {
        const reason = `no server block is known to answer ${host.name}: what "import ${unread.pattern}" brings in could not be read`
        const remedy = 'read the Corefile from the cluster; a snippet must stand above its use'
        return refuseHost(host, 'NoServerBlock', reason, remedy, unread)
      }
      const reason = `no server block answers ${host.name}`
      return refuseHost(host, 'NoServerBlock', reason, 'add a server block for the root zone, or leave this name out')
    }
    for (const block of blocks) {
      const refusal = this.blockObstacle(host, block) ?? this.ruleObstacle(host, block, answer)
      if (refusal) return refusal
    }
    return undefined
  }

  private blockObstacle(host: WantedHost, block: ServerBlock): HostRefusal | undefined {
    const place = this.place(block)
    if (place.kind === 'corefile') return isEditable(block) ? undefined : this.notEditable(host, block)
    // What an unread import in front of our key holds may catch the name before our rule does.
    const hidden = this.parsed.imports.find(
      (use) =>
        use.kind === 'unknown' &&
        use.block === block.index &&
        use.file === place.use.file &&
        use.start < place.use.start,
    )
    if (!hidden) return undefined
    const reason = `"import ${hidden.pattern}" stands before our import key and could not be read`
    return refuseHost(host, 'UnknownImportFirst', reason, 'read the Corefile from the cluster', hidden)
  }

  private notEditable(host: WantedHost, block: ServerBlock): HostRefusal {
    const at = block.open ?? block.keyTokens[0]
    const zones = block.keys.join(' ')
    const [reason, remedy] = block.open
      ? [
          `${host.name} is answered by server block "${zones}" in ${at?.file || this.parsed.path}, which is not ours to edit`,
          'add the rule there, or leave this name out',
        ]
      : [`server block "${zones}" on line ${at?.line ?? 0} has no braces`, 'put braces around its directives first']
    return refuseHost(host, 'BlockNotEditable', reason, remedy, at ?? {})
  }

  /** Rules of operators that catch the name today. */
  private ruleObstacle(host: WantedHost, block: ServerBlock, answer: HostAnswer): HostRefusal | undefined {
    const place = this.place(block)
    for (const hit of answer.caughtBy) {
      if (hit.block !== block.index) continue
      const rule = `line ${hit.line}: ${hit.text}`
      if (standsBefore(hit.directive, place)) {
        const reason = `${rule} answers ${host.name} before our import key is read`
        return refuseHost(host, 'ShadowedByRule', reason, 'remove or move that rule, or leave this name out', hit)
      }
      if (this.answeredByUs(host, block, hit.directive)) continue
      if (!this.options.before) {
        const reason = `${rule} already answers ${host.name}`
        return refuseHost(host, 'CaughtByOperatorRule', reason, 'repeat with --before to stand in front of it', hit)
      }
      const text = `our rule for ${host.name} stands before this one and overrides it`
      this.notes.push({code: 'OverridesOperatorRule', text, at: {file: hit.file, line: hit.line, text: hit.text}})
    }
    return undefined
  }

  /** Whether a rule of ours already stands in front of an operator's and answers the name: then nothing changes for it. */
  private answeredByUs(host: WantedHost, block: ServerBlock, other: Directive): boolean {
    let rules = this.ourRules.get(block)
    if (!rules) {
      rules = block.directives.flatMap((directive) => {
        const rule = this.options.ours.has(directive) ? readNameRule(directive) : undefined
        return rule ? [{directive, rule}] : []
      })
      this.ourRules.set(block, rules)
    }
    const name = host.kind === 'exact' ? host.name : host.name.replace(/^\*/, 'any')
    const order = block.directives.indexOf(other)
    return rules.some(({directive, rule}) => answersName(rule, name) && block.directives.indexOf(directive) < order)
  }
}
