import type {ReloadHash} from '../reload-hash.ts'
import type {
  ByteEdit,
  CheckLoadable,
  FileRefusal,
  HostRefusal,
  LineReference,
  ParseOptions,
  PrepareHostAnswers,
  WantedHost,
} from '../types.ts'

/** Whose marker lines are written and read as ours. */
export type MarkerOwner = 'srcip' | 'ouroboros'

/** Writers whose rules can be taken over in the same write. */
export type AdoptedOwner = MarkerOwner | 'hairpin-proxy'

/** What the editor works on. The wanted set is whole: a rule of ours for a name that is not in it goes. */
export interface EditRequest {
  readonly corefile: Uint8Array
  /** Path, imported files, environment, version. `directives` is not looked at: the editor always checks names. */
  readonly parse?: Omit<ParseOptions, 'directives'>
  readonly hosts: readonly WantedHost[]
  /** Names under a wanted wildcard that keep their own answer: identity rules in front of the wildcard. */
  readonly spared?: readonly string[]
  /** Default `srcip`. */
  readonly owner?: MarkerOwner
  /** Sections and lines of these are taken out too. */
  readonly adopt?: readonly AdoptedOwner[]
  /** FQDNs by which unmarked lines are known to be ours, beside the targets of `hosts`. */
  readonly targets?: readonly string[]
  /**
   * Absolute paths at which keys of our own are (or would be) mounted, for example
   * `/etc/coredns/custom/srcip.override`. A block that imports one gets its rules there and never in the Corefile.
   * Their present content comes from `parse.files`.
   */
  readonly importKeys?: readonly string[]
  /** Keys of the adopted owners, by absolute path: what is theirs goes, and no rule of ours is put there. */
  readonly adoptKeys?: readonly string[]
  /** Where rules go: `auto` (default) into an import key where the block imports one; `corefile` between markers always. */
  readonly place?: 'auto' | 'corefile'
  /** Take wildcards; otherwise they are refused with `WildcardsOff`. */
  readonly wildcards?: boolean
  /** Take hosts that a rule of an operator catches today, by standing in front of it. */
  readonly before?: boolean
  /** Mend damaged markers instead of refusing. */
  readonly repair?: boolean
  /** Let an empty wanted set take everything out. */
  readonly allowEmpty?: boolean
  /** Zone of the cluster beside those on the `kubernetes` lines. */
  readonly clusterDomain?: string
  /** Port on which CoreDNS gets the queries of the cluster. Default: see dnsPortOf. */
  readonly dnsPort?: string
  /** What an import that could not be read means: default `refuse`; `warn` for a file without its surroundings. */
  readonly unknownImports?: 'refuse' | 'warn'
  /** Decides which blocks answer a host. Default: the simulator (prepareHostAnswers). */
  readonly answers?: PrepareHostAnswers
  /** Checks beside P1, P2 and P4, which the editor always makes. */
  readonly check?: CheckLoadable
}

export interface TakenHost {
  readonly name: string
  readonly kind: WantedHost['kind']
  readonly target: string
  /** `exact`: a line of its own; `packed`: one alternation with others; `wildcard`: an anchored pattern. */
  readonly form: 'exact' | 'packed' | 'wildcard'
  /** Every block that got the rule. `place` is `''` for the Corefile, else the path of the import key. */
  readonly blocks: readonly {readonly keys: readonly string[]; readonly line: number; readonly place: string}[]
}

/** One text before and after; `undefined` is a file that does not exist, `null` one that goes. */
export interface FileChange {
  /** `''` is the main Corefile, else the absolute path of an import key. */
  readonly file: string
  readonly before: Uint8Array | undefined
  readonly after: Uint8Array | null
}

/** Things worth a line to the person, none of them an obstacle. */
export interface EditNote {
  readonly code:
    | 'MarkersMissing'
    | 'MarkersRepaired'
    | 'ForeignLineInMarkers'
    | 'OverridesOperatorRule'
    | 'SectionMoved'
    | 'OurRuleNotEditable'
    | 'UnreadableImport'
    | 'UnknownEnvironment'
    | 'NoReload'
    | 'OtherOwner'
  readonly text: string
  readonly at?: LineReference
}

export interface EditPlan {
  /** Nothing is written at all; the other fields are empty. */
  readonly refusal?: FileRefusal
  /** Only files whose bytes change. */
  readonly files: readonly FileChange[]
  readonly edits: readonly ByteEdit[]
  readonly taken: readonly TakenHost[]
  readonly refused: readonly HostRefusal[]
  readonly notes: readonly EditNote[]
  /** Of the state after the edit (or as it is, when nothing changes). */
  readonly hash: ReloadHash
  /** Whether the state after the edit loads the `reload` plugin. */
  readonly reloads: boolean
}
