import {createHash} from 'node:crypto'
import {atLeast} from './directives.ts'
import {parseCorefile} from './parser.ts'
import {compareBytewise} from './runes.ts'
import type {CorefileError, ParsedCorefile, ParseOptions, Token, Unknown} from './types.ts'

/** What the `reload` plugin will log and label its metric with. */
export interface ReloadHash {
  /** Hexadecimal SHA-512 (MD5 before 1.9.1); null when it cannot be known. */
  readonly value: string | null
  readonly algorithm: 'sha512' | 'md5'
  /** What it depends on and could not be read; with an empty list a null value comes from `error`. */
  readonly unknown: readonly Unknown[]
  /** The error of P0, on which the plugin only logs a warning and keeps its old hash. */
  readonly error?: CorefileError
}

/**
 * Predicts the hash by which the `reload` plugin knows a file: over the JSON of its parse without a directive list (P0),
 * keys expanded but not normalised, directives sorted by name, line numbers and imported files included.
 *
 * @param bytes the main Corefile as it will be mounted
 * @param options as for parseCorefile; `directives` is not looked at
 */
export function reloadHash(bytes: Uint8Array, options: ParseOptions = {}): ReloadHash {
  return hashOfParsed(parseCorefile(bytes, {...options, directives: false}))
}

/** The same from a parse at hand. One that checked directive names (P1) gives the same hash if it has no error. */
export function hashOfParsed(parsed: ParsedCorefile): ReloadHash {
  const algorithm = atLeast(parsed.version, '1.9.1') ? 'sha512' : 'md5'
  const unknown = parsed.unknowns
  if (parsed.error) return {value: null, algorithm, unknown, error: parsed.error}
  if (unknown.length > 0) return {value: null, algorithm, unknown}
  // Go writes \b and \f in short form since 1.22, which CoreDNS builds use from 1.11.2 on.
  const shortEscapes = atLeast(parsed.version, '1.11.2')
  const blocks = parsed.blocks.map(({keys, tokens}) => {
    const names = [...tokens.keys()].sort(compareBytewise)
    const directives = names.map(
      (name) => `${quote(name, shortEscapes)}:[${list(tokens.get(name) ?? [], shortEscapes)}]`,
    )
    return `{"Keys":[${keys.map((key) => quote(key, shortEscapes)).join(',')}],"Tokens":{${directives.join(',')}}}`
  })
  const json = blocks.length === 0 ? 'null' : `[${blocks.join(',')}]`
  return {value: createHash(algorithm).update(json).digest('hex'), algorithm, unknown}
}

function list(tokens: readonly Token[], shortEscapes: boolean): string {
  let text = ''
  for (const {file, line, text: word} of tokens) {
    if (text !== '') text += ','
    text += `{"File":${quote(file, shortEscapes)},"Line":${line},"Text":${quote(word, shortEscapes)}}`
  }
  return text
}

// What both JSON.stringify and Go's encoding/json write as it is.
const plain = /^[ !#-%'-;=?-[\]-~]*$/

/** A JSON string as Go's encoding/json writes it: `<`, `>`, `&`, U+2028 and U+2029 escaped as well. */
function quote(text: string, shortEscapes: boolean): string {
  if (plain.test(text)) return `"${text}"`
  const escaped = JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  // An even run of backslashes before \b or \f belongs to the text, so both are matched together.
  return shortEscapes ? escaped : escaped.replace(/\\(?:\\|b|f)/g, (pair) => longForm[pair] ?? pair)
}

const longForm: Readonly<Record<string, string>> = {'\\b': '\\u0008', '\\f': '\\u000c'}
