import {defaultVersion, directivesOf} from './directives.ts'
import {emptyEnvironment, EndlessExpansion} from './environment.ts'
import {absolutePath} from './imports.ts'
import {lex} from './lexer.ts'
import {BlockParser, ParseFailure} from './block-parser.ts'
import {TooManyTokens} from './token-stream.ts'
import type {CorefileError, ParsedCorefile, ParseOptions} from './types.ts'

/** Where CoreDNS images find their Corefile. */
export const defaultPath = '/etc/coredns/Corefile'

/**
 * Reads a Corefile as CoreDNS does (coredns/caddy caddyfile/parse.go): blocks with their keys and directives, snippets,
 * imports expanded, environment replaced.
 *
 * @param bytes the main file
 * @param options other files, environment, version; see ParseOptions. `directives: false` is the parse of the reload
 *   plugin (P0), otherwise names are checked (P1)
 * @returns always a result: `error` holds CoreDNS' own message, `blocks` what was read before it
 */
export function parseCorefile(bytes: Uint8Array, options: ParseOptions = {}): ParsedCorefile {
  const path = options.path ?? defaultPath
  const version = options.version ?? defaultVersion
  const main = lex(bytes)
  const reader = new BlockParser(main.tokens, {
    path,
    absolutePath: absolutePath(path, options.workingDirectory ?? '/'),
    version,
    files: options.files ?? new Map(),
    directories: options.directories ?? new Set(),
    onlyGivenFiles: (options.imports ?? 'error') === 'error',
    environment: options.env ?? emptyEnvironment,
    directives: directiveNames(options.directives ?? true, version),
  })
  const error = run(reader)
  return {
    path,
    absolutePath: absolutePath(path, options.workingDirectory ?? '/'),
    version,
    blocks: reader.blocks,
    snippets: [...reader.snippets.values()],
    keyless: reader.keyless,
    imports: reader.imports,
    unknowns: reader.unknowns,
    problems: [...main.problems, ...reader.problems],
    warnings: reader.warnings,
    ...(error && {error}),
    mainTokens: main.tokens,
  }
}

function directiveNames(
  wanted: boolean | readonly string[],
  version: ParsedCorefile['version'],
): ReadonlySet<string> | undefined {
  if (wanted === false) return undefined
  return new Set(wanted === true ? directivesOf(version) : wanted)
}

function run(reader: BlockParser): CorefileError | undefined {
  try {
    reader.parseAll()
    return undefined
  } catch (thrown) {
    if (thrown instanceof ParseFailure) return thrown.error
    if (thrown instanceof EndlessExpansion) return reader.hang(thrown.message)
    if (thrown instanceof TooManyTokens) return reader.hang('imports expand to more words than CoreDNS can hold')
    throw thrown
  }
}
