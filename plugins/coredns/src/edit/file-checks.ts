import {dnsPortOf} from '../block-choice.ts'
import {directivesOf} from '../directives.ts'
import {environmentNames} from '../environment.ts'
import {checkListeners} from '../listeners.ts'
import type {InspectedKeys} from '../server-keys.ts'
import {checkSetup} from '../setup/check-setup.ts'
import {splitTransport} from '../setup/zone-arguments.ts'
import type {
  CorefileError,
  FileRefusal,
  FileRefusalCode,
  ImportUse,
  LexProblemKind,
  ParsedCorefile,
  ServerBlock,
  Token,
} from '../types.ts'
import type {EditRequest} from './request.ts'

/** A ConfigMap ends at 1 MiB, its other keys and metadata included. */
const sizeLimit = 1_048_576

/** A refusal that names a line of a file. */
export function refuseFile(
  code: FileRefusalCode,
  reason: string,
  remedy: string,
  at: {readonly file: string; readonly line?: number} = {file: ''},
): FileRefusal {
  return {code, file: at.file, reason, remedy, ...(at.line ? {line: at.line} : {})}
}

/** A ConfigMap key that large cannot be written. */
export function checkSize(bytes: Uint8Array, file: string): FileRefusal | undefined {
  if (bytes.length < sizeLimit) return undefined
  const reason = `the text has ${bytes.length} bytes; a ConfigMap holds less than 1 MiB`
  return refuseFile('TooLarge', reason, 'use fewer names', {file})
}

/** Why a file is not touched whatever is wanted: the part of the list that its text alone shows. */
export function checkFile(
  parsed: ParsedCorefile,
  inspected: InspectedKeys,
  request: EditRequest,
): FileRefusal | undefined {
  return (
    checkBytes(parsed) ??
    checkParse(parsed) ??
    checkEnvironment(parsed) ??
    checkKeys(parsed) ??
    checkBraces(parsed) ??
    checkImports(parsed, request.unknownImports ?? 'refuse') ??
    checkServers(parsed, inspected, request)
  )
}

const problems: Readonly<Record<LexProblemKind, readonly [FileRefusalCode, string, string]>> = {
  'invalid-utf8': ['NotText', 'a byte that is not UTF-8', 'save the file as UTF-8'],
  'control-character': ['NotText', 'a control character', 'remove it'],
  'zero-width-character': ['NotText', 'an invisible character inside a word', 'type the word anew'],
  'lone-carriage-return': ['NotText', 'a carriage return that ends no line', 'use LF or CRLF line ends throughout'],
  'unterminated-quote': ['UnterminatedQuote', 'a quote that is never closed', 'close it'],
  'glued-comment': [
    'GluedComment',
    'a # directly behind a word: CoreDNS reads the words after the next blank as configuration',
    'put a blank before the #',
  ],
}

function checkBytes(parsed: ParsedCorefile): FileRefusal | undefined {
  const [problem] = parsed.problems
  if (!problem) return undefined
  const [code, what, remedy] = problems[problem.kind]
  return refuseFile(code, what, remedy, problem)
}

/** A refusal for an error of CoreDNS'. */
function refuseError(parsed: ParsedCorefile, error: CorefileError, code: FileRefusalCode): FileRefusal {
  const at = {file: error.file === parsed.path ? '' : error.file, line: error.line}
  if (error.message.includes("Unexpected '}' because no matching")) {
    return refuseFile(code, 'a closing brace must stand on its own line', 'put a line break before it', at)
  }
  return refuseFile(code, `CoreDNS refuses this file: ${error.message}`, 'mend the file first', at)
}

function checkParse(parsed: ParsedCorefile): FileRefusal | undefined {
  if (parsed.error) return refuseError(parsed, parsed.error, 'DoesNotParse')
  if (parsed.blocks.length > 0) return undefined
  const reason = 'the file has no server block, so CoreDNS would serve its built-in default'
  return refuseFile('NoServerBlock', reason, 'put the Corefile back first')
}

/** Unknown variables matter where they decide what is a block or a file; in an argument they are only noted. */
function checkEnvironment(parsed: ParsedCorefile): FileRefusal | undefined {
  const unknown = new Set(parsed.unknowns.filter(({kind}) => kind === 'env').map(({name}) => name))
  if (unknown.size === 0) return undefined
  const words = parsed.blocks.flatMap(({keyTokens, directives}) => [
    ...keyTokens,
    ...directives.map(({tokens}) => tokens[0] as Token),
  ])
  const suspects = [
    ...words.map((token) => ({text: token.raw, at: token})),
    ...parsed.imports.map((use) => ({text: use.pattern, at: use})),
  ]
  for (const {text, at} of suspects) {
    const name = environmentNames(text).find((one) => unknown.has(one))
    if (name === undefined) continue
    const reason = `the value of environment variable ${name} decides how the file is read and is not known`
    return refuseFile(
      'UnknownEnvironment',
      reason,
      'read the Corefile from the cluster, where the value can be seen',
      at,
    )
  }
  return undefined
}

function checkKeys(parsed: ParsedCorefile): FileRefusal | undefined {
  const names = new Set(directivesOf(parsed.version))
  for (const block of parsed.blocks) {
    for (const [index, key] of block.keys.entries()) {
      const wrong = keyProblem(key, names)
      if (wrong) return refuseFile(wrong[0], wrong[1], wrong[2], block.keyTokens[index])
    }
  }
  return undefined
}

function keyProblem(key: string, names: ReadonlySet<string>): readonly [FileRefusalCode, string, string] | undefined {
  const reads = `CoreDNS reads the zone as ${JSON.stringify(key)}`
  const {rest} = splitTransport(key)
  if (key.endsWith('{')) return ['SuspiciousKey', reads, 'put a space before the brace']
  if (key.includes('}')) return ['SuspiciousBraces', reads, 'remove the brace that closes nothing']
  if (names.has(key) || key === 'import') return ['SuspiciousKey', reads, 'check for a lost header line or brace']
  if (/[{}()",#]/.test(key)) return ['SuspiciousKey', reads, 'correct the line']
  if (rest.startsWith(':')) return ['SuspiciousKey', `${reads}, which names no zone`, `write .${rest}`]
  const colon = rest.lastIndexOf(':')
  if (colon !== -1 && !/^\+?\d+$/.test(rest.slice(colon + 1)) && !rest.includes('/')) {
    return ['SuspiciousKey', `${reads}: what follows the colon is no port`, 'correct the port']
  }
  return undefined
}

function checkBraces(parsed: ParsedCorefile): FileRefusal | undefined {
  const [keyless] = parsed.keyless
  if (keyless) {
    return refuseFile('SuspiciousBraces', 'a block without any zone, which CoreDNS forgets', 'remove it', keyless)
  }
  for (const {open, close} of parsed.blocks) {
    if (!open) continue
    if (!close) {
      const reason =
        'the server block that opens here is never closed; CoreDNS takes the brace of its last plugin for it'
      return refuseFile('SuspiciousBraces', reason, 'add the missing }', open)
    }
    if (close.file !== open.file) {
      const reason = `this brace closes the server block that opens on line ${open.line} of another file`
      return refuseFile('SuspiciousBraces', reason, 'remove the brace that is one too many', close)
    }
  }
  return undefined
}

function checkImports(parsed: ParsedCorefile, unknown: 'refuse' | 'warn'): FileRefusal | undefined {
  const seen = new Map<string, ImportUse>()
  for (const use of parsed.imports) {
    if (use.kind === 'unknown' && unknown === 'refuse') {
      const reason = `what "import ${use.pattern}" brings in could not be read`
      return refuseFile(
        'UnreadableImport',
        reason,
        'read the Corefile from the cluster, where imports can be seen',
        use,
      )
    }
    if (use.block === -1) continue
    for (const what of use.kind === 'snippet' ? [use.resolved] : use.files) {
      const key = `${use.block} ${use.kind} ${what}`
      if (seen.has(key)) {
        const reason = `${what} is imported twice into one server block, so its lines run together`
        return refuseFile('RepeatedImport', reason, 'import it once', use)
      }
      seen.set(key, use)
    }
  }
  return undefined
}

function checkServers(parsed: ParsedCorefile, inspected: InspectedKeys, request: EditRequest): FileRefusal | undefined {
  const error = loadError(parsed, inspected, request)
  if (error) return refuseError(parsed, error, 'NotLoadable')
  const roots = inspected.zones.filter(({transport, zone}) => transport === 'dns' && zone === '.')
  if (roots.length === 0) {
    const reason = 'no server block serves the root zone, so this file is no cluster DNS'
    return refuseFile('NoRootZone', reason, 'put the block ".:53 { … }" back')
  }
  if (request.dnsPort ?? dnsPortOf(inspected)) return undefined
  const ports = [...new Set(roots.map(({port}) => port))].join(', ')
  return refuseFile(
    'NoRootZone',
    `the root zone is served on ports ${ports} but not on 53`,
    'name the port of the DNS Service',
  )
}

/** First error of P2, P3 and P4, and of the caller's own check. */
export function loadError(
  parsed: ParsedCorefile,
  inspected: InspectedKeys,
  {check}: Pick<EditRequest, 'check'>,
): CorefileError | undefined {
  return inspected.error ?? checkSetup(parsed).errors[0] ?? checkListeners(parsed, inspected) ?? check?.(parsed)
}

/** Blocks of the main file that lines can be put into. */
export function isEditable({open, close}: ServerBlock): boolean {
  return open?.file === '' && close?.file === ''
}
