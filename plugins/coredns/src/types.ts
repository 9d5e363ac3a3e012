/**
 * The shapes that lexer, parser, simulator, lint and editor share. Plain data; no function of this package does I/O.
 *
 * Words: P0 is the parse without a directive list (what the `reload` plugin hashes), P1 the parse with it, P2 the
 * reading of server keys, P3 the argument checks of the plugins, P4 the listener and overlap checks.
 */

/** CoreDNS release as three numbers. */
export interface CorednsVersion {
  readonly major: number
  readonly minor: number
  readonly patch: number
}

/** One word of a Corefile. */
export interface Token {
  /** As the lexer read it (escapes of quotes resolved, nothing expanded). */
  readonly raw: string
  /** As CoreDNS holds it after the parse: arguments with environment references replaced; directive names and keys as read. */
  readonly text: string
  /** `''` for the main Corefile, else the absolute path of the imported file. */
  readonly file: string
  /** 1-based line of that file on which the token begins. */
  readonly line: number
  /** First byte in that file (the opening quote of a quoted token). */
  readonly start: number
  /** First byte behind the token (behind the closing quote of a quoted token). */
  readonly end: number
  readonly quoted: boolean
}

/** What a lexer finds odd. CoreDNS accepts all of it; the editor refuses such files. */
export type LexProblemKind =
  | 'invalid-utf8'
  | 'control-character'
  | 'zero-width-character'
  | 'unterminated-quote'
  | 'glued-comment'
  | 'lone-carriage-return'

export interface LexProblem {
  readonly kind: LexProblemKind
  readonly file: string
  readonly line: number
  /** Byte offset in that file. */
  readonly offset: number
}

/** One directive (a plugin's line or lines, its nested block included) of a server block. */
export interface Directive {
  /** With environment references replaced: the name CoreDNS groups by. */
  readonly name: string
  /** The name token first, then every token of the directive, braces included, imports expanded in place. */
  readonly tokens: readonly Token[]
  /** Import statements (outermost first, at most 64) through which the directive came into the block; empty when it stands there itself. */
  readonly via: readonly ImportUse[]
}

/** One `import` statement that was met while parsing. */
export interface ImportUse {
  /** The argument, environment expanded. */
  readonly pattern: string
  /** Position of the word `import`. */
  readonly file: string
  readonly line: number
  /** Bytes from the first of `import` to behind its argument. */
  readonly start: number
  readonly end: number
  /** `file`: matched files are in `files`. `unknown`: could not be read (ParseOptions.imports = 'unknown'); its content is missing from the result. */
  readonly kind: 'snippet' | 'file' | 'unknown'
  /** Absolute paths in the order of expansion. */
  readonly files: readonly string[]
  /** Absolute pattern (for `file` and `unknown`), else the snippet's name. */
  readonly resolved: string
  /** Index into ParsedCorefile.blocks of the block whose content the import stands in, -1 for between blocks or in the keys. */
  readonly block: number
}

export interface ServerBlock {
  /** Position in ParsedCorefile.blocks (key-less blocks, which CoreDNS drops, are not there). */
  readonly index: number
  /** Keys after environment expansion and with the trailing comma taken off, not normalised. */
  readonly keys: readonly string[]
  /** The tokens the keys were read from, same order. */
  readonly keyTokens: readonly Token[]
  /** Absent for a block without braces. */
  readonly open?: Token
  /** Absent for a block without braces, and where CoreDNS takes another token's `}` for the missing one. */
  readonly close?: Token
  /** In order of appearance. */
  readonly directives: readonly Directive[]
  /** What setup code sees: all tokens of equal names in one list, in order of appearance. */
  readonly tokens: ReadonlyMap<string, readonly Token[]>
}

/** A snippet definition `(name) { … }`. */
export interface Snippet {
  readonly name: string
  readonly key: Token
  readonly open: Token
  readonly close: Token
  readonly tokens: readonly Token[]
}

/** Phase that reports an error; `hang` is what CoreDNS would never return from. */
export type Phase = 'parse' | 'inspect' | 'setup' | 'servers' | 'hang'

/** An error in CoreDNS' own words. */
export interface CorefileError {
  readonly phase: Phase
  /** Whole message as CoreDNS prints it, `FILE:LINE - ` included where it has one. */
  readonly message: string
  /** Path of the file as CoreDNS writes it in messages. */
  readonly file: string
  /** Where it stands, also for messages without a position; 0 where it belongs to no line. */
  readonly line: number
  /** Index of the server block where known. */
  readonly block?: number
}

/** What the result depends on and could not be seen. */
export type Unknown =
  | {readonly kind: 'env'; readonly name: string; readonly file: string; readonly line: number}
  | {readonly kind: 'import'; readonly name: string; readonly file: string; readonly line: number}

/** Environment of the CoreDNS process, as far as it is known. */
export interface Environment {
  readonly known: ReadonlyMap<string, string>
  /** What a variable that is not in `known` is: really unset (empty text), or not to be seen from here (reference stays, is listed in `unknowns`). */
  readonly others: 'unset' | 'unknown'
}

export interface ParseOptions {
  /** The `-conf` argument of CoreDNS; used in messages and, made absolute, as base of relative imports. Default `/etc/coredns/Corefile`. */
  readonly path?: string
  /** Base of a relative `path`. Default `/`. */
  readonly workingDirectory?: string
  /** Files that imports may find: absolute clean path to content. */
  readonly files?: ReadonlyMap<string, Uint8Array>
  /** Directories whose whole content is in `files` (also empty ones), and directories that exist beside those implied by `files`. */
  readonly directories?: ReadonlySet<string>
  /**
   * `error`: `files` is all there is, so a missing plain file is CoreDNS' error and an empty glob is empty.
   * `unknown`: what is not in `files` and does not lie directly in one of `directories` is listed in `unknowns`. Default `error`.
   */
  readonly imports?: 'error' | 'unknown'
  /** Default: empty and all others unset. */
  readonly env?: Environment
  /** Default 1.14.7. */
  readonly version?: CorednsVersion
  /** true: P1, with the directive list of that version; false: P0; a list: exactly these names. Default true. */
  readonly directives?: boolean | readonly string[]
}

export interface ParsedCorefile {
  /** As in the options: used in messages. */
  readonly path: string
  readonly absolutePath: string
  readonly version: CorednsVersion
  /** Blocks up to the error, if there is one. */
  readonly blocks: readonly ServerBlock[]
  readonly snippets: readonly Snippet[]
  /** First tokens of blocks without any key, which CoreDNS reads and forgets. */
  readonly keyless: readonly Token[]
  readonly imports: readonly ImportUse[]
  readonly unknowns: readonly Unknown[]
  /** Of every file that was read. */
  readonly problems: readonly LexProblem[]
  /** Log lines CoreDNS would write (globs without a match). */
  readonly warnings: readonly string[]
  /** First error of P0/P1. */
  readonly error?: CorefileError
  /** Tokens of the main file alone, imports not expanded. */
  readonly mainTokens: readonly Token[]
}

export type Transport = 'dns' | 'tls' | 'quic' | 'grpc' | 'https' | 'https3' | 'unix'

/** One (transport, zone, port) a block serves; CIDR keys give several. */
export interface ServedZone {
  readonly transport: Transport
  /** Lower case (>= 1.14.7; as written before), final dot. */
  readonly zone: string
  readonly port: string
  readonly block: number
  /** Index into ServerBlock.keys of the key it came from. */
  readonly key: number
}

/** Listener: every listener has a zone table of its own. */
export interface Listener {
  readonly transport: Transport
  /** Address given to `bind`, `''` for all addresses. */
  readonly address: string
  readonly port: string
  /** In file order. */
  readonly zones: readonly ServedZone[]
}

/** At byte `offset` of the original bytes of `file` the bytes `removed` are replaced by `inserted`. Sorted by offset, never overlapping. */
export interface ByteEdit {
  readonly file: string
  readonly offset: number
  readonly removed: string
  readonly inserted: string
}

/** How much of the DNS tree a wanted entry stands for. */
export type WantedKind = 'exact' | 'wildcard-one-label' | 'wildcard-any-depth'

/** A name that must be answered with the addresses of `target`. Lower case, no final dot; wildcards begin with `*.`. */
export interface WantedHost {
  readonly name: string
  readonly kind: WantedKind
  /** FQDN of a Service, final dot optional. */
  readonly target: string
}

/** A rule or plugin line of somebody else, for messages. */
export interface LineReference {
  /** `''` is the main Corefile. */
  readonly file: string
  readonly line: number
  readonly text: string
}

/** Why one host is not taken. Documented in the README of this package. */
export type HostRefusalCode =
  | 'InvalidName'
  | 'DuplicateName'
  | 'WildcardsOff'
  | 'WildcardUnsupported'
  | 'InClusterZone'
  | 'InReverseZone'
  | 'NoServerBlock'
  | 'BlockCannotResolveTarget'
  | 'ShadowedByRule'
  | 'CaughtByOperatorRule'
  | 'AutopathAnswersFirst'
  | 'AnsweredByEarlierPlugin'
  | 'TargetInvalid'
  | 'TargetIsHost'
  | 'BlockNotEditable'
  | 'UnknownImportFirst'

export interface HostRefusal {
  readonly name: string
  readonly kind: WantedKind
  readonly target: string
  readonly code: HostRefusalCode
  readonly reason: string
  readonly file?: string
  readonly line?: number
  readonly remedy: string
}

/** Why a whole file is not touched. Documented in the README of this package. */
export type FileRefusalCode =
  | 'DoesNotParse'
  | 'NotLoadable'
  | 'NoServerBlock'
  | 'NoRootZone'
  | 'SuspiciousKey'
  | 'SuspiciousBraces'
  | 'NotText'
  | 'GluedComment'
  | 'UnterminatedQuote'
  | 'UnknownEnvironment'
  | 'UnreadableImport'
  | 'RepeatedImport'
  | 'MarkersDamaged'
  | 'EmptySet'
  | 'TooLarge'
  | 'WouldChangeOthers'

export interface FileRefusal {
  readonly code: FileRefusalCode
  /** `''` is the main Corefile. */
  readonly file: string
  readonly line?: number
  readonly reason: string
  readonly remedy: string
}

/** What the editor asks about one wanted host before it writes. */
export interface HostAnswerQuery {
  readonly host: WantedHost
  /** Directives that are ours now: no rule of an operator. */
  readonly ours: (directive: Directive) => boolean
}

/** Answer of the simulation for one host. */
export interface HostAnswer {
  /** Indexes of every server block that can answer the name (several with views or listeners), file order. */
  readonly blocks: readonly number[]
  /** Rewrite rules of others in these blocks that catch the name today, in list order. */
  readonly caughtBy: readonly (LineReference & {readonly block: number; readonly directive: Directive})[]
  /** A reason that no place of our lines can cure; wins over everything else. */
  readonly refusal?: HostRefusal
}

/** What the simulator is told beside the file. */
export interface HostAnswerOptions {
  /** Port on which CoreDNS gets the queries of the cluster. */
  readonly dnsPort: string
}

/** Decides which blocks answer a host and what is in the way; the simulator provides it, the editor asks it. One call prepares a file, the inner one answers many hosts. */
export type PrepareHostAnswers = (
  parsed: ParsedCorefile,
  options: HostAnswerOptions,
) => (query: HostAnswerQuery) => HostAnswer

/** Checks of P2 to P4 (and lint errors that forbid a write) over a parsed file: first error in the order CoreDNS would meet it, or undefined. */
export type CheckLoadable = (parsed: ParsedCorefile) => CorefileError | undefined
