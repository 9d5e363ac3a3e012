/** The YAML parser, in a module of its own so that it is loaded only when a file is read. */
import {LineCounter, parseAllDocuments} from 'yaml'
import type {SrcipError} from '../../model/errors.ts'
import {unreadable} from './unreadable.ts'

/** One document of a file: a JSON value or one YAML document. */
export interface FileDocument {
  /** `FILE` or `FILE (document 2)`, for messages. */
  readonly place: string
  readonly value: unknown
}

/** The YAML parser needs some fifty bytes of memory for each of text. */
const maxYamlBytes = 48 * 1024 * 1024
/** Uses of anchors in one document; people write a few, an alias bomb needs thousands. */
const maxAliases = 100

/** Levels of maps and lists; an object of Kubernetes has some fifteen, a custom resource with a schema in it forty. */
const maxDepth = 200

const formHint = 'give a Snapshot, or manifests as kubectl get -o yaml|json prints them'

/**
 * The documents of one file, in order. JSON (one value, or several one after another) and YAML are told apart by their
 * first character. Whatever cannot be read is a usage error that names the file, the document and the next step.
 */
export function parseDocuments(bytes: Uint8Array, file: string): FileDocument[] {
  const text = decode(bytes, file)
  if (/^\s*[{[]/.test(text)) {
    const json = parseJsonDocuments(text, file)
    if (json !== undefined) return json
  }
  return parseYaml(text, bytes.length, file)
}

function decode(bytes: Uint8Array, file: string): string {
  if (bytes.length === 0) throw unreadable(file, 'is empty (0 bytes)', [formHint])
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) throw unreadable(file, 'is compressed (gzip)', [`gunzip it first`])
  if ((bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff))
    throw unreadable(file, 'is UTF-16', ['save it as UTF-8 (PowerShell: ... | Out-File -Encoding utf8 FILE)'])
  const zero = bytes.indexOf(0)
  if (zero >= 0) throw unreadable(file, `is binary: byte ${zero + 1} is NUL`, [formHint])
  try {
    return new TextDecoder('utf-8', {fatal: true}).decode(bytes)
  } catch {
    throw unreadable(file, 'is no UTF-8 text', [formHint])
  }
}

/** Undefined: it begins like JSON and is none, so YAML may have its say. */
function parseJsonDocuments(text: string, file: string): FileDocument[] | undefined {
  try {
    return [{place: file, value: JSON.parse(text) as unknown}]
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(file)
  }
  const parts = splitJson(text)
  if (parts === undefined)
    throw unreadable(file, `is cut off: the JSON value that begins it does not end within ${text.length} characters`, [
      'write it again, or copy it whole',
    ])
  const values: FileDocument[] = []
  for (const [index, part] of parts.entries()) {
    try {
      values.push({place: placeOf(file, index, parts.length), value: JSON.parse(part) as unknown})
    } catch (error) {
      if (error instanceof RangeError) throw tooDeep(file)
      return undefined
    }
  }
  return values
}

/** Cuts texts such as `{...}\n{...}` between balanced values; undefined when the last one does not end. */
function splitJson(text: string): string[] | undefined {
  const parts: string[] = []
  let depth = 0
  let start = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (quoted) {
      if (code === 0x5c) at += 1
      else if (code === 0x22) quoted = false
    } else if (code === 0x22) quoted = true
    else if (code === 0x7b || code === 0x5b) depth += 1
    else if ((code === 0x7d || code === 0x5d) && depth > 0) {
      depth -= 1
      if (depth > 0) continue
      parts.push(text.slice(start, at + 1))
      start = at + 1
    }
  }
  if (depth > 0 || quoted) return undefined
  const rest = text.slice(start)
  return rest.trim() === '' ? parts : [...parts, rest]
}

function parseYaml(text: string, size: number, file: string): FileDocument[] {
  if (size > maxYamlBytes)
    throw unreadable(file, `has ${size} bytes of YAML, more than the ${maxYamlBytes} that are read`, [
      'give it as JSON (kubectl get -o json), or as a Snapshot',
    ])
  const lines = new LineCounter()
  let documents
  try {
    documents = parseAllDocuments(text, {
      logLevel: 'silent',
      prettyErrors: false,
      // Checked below: the parser's own check takes a time that grows with the square of a map's size.
      uniqueKeys: false,
      merge: true,
      lineCounter: lines,
    })
  } catch (error) {
    if (error instanceof RangeError) throw tooDeep(file)
    throw error
  }
  if (!Array.isArray(documents)) throw unreadable(file, 'holds no document', [formHint])
  return documents.flatMap((document, index) => {
    const place = placeOf(file, index, documents.length)
    const [problem] = document.errors
    if (problem?.code === 'RESOURCE_EXHAUSTION') throw tooDeep(place)
    if (problem !== undefined) {
      const {line} = lines.linePos(problem.pos[0])
      // The parser's own words quote the text, which may hold a secret.
      const cut = problem.pos[0] >= text.trimEnd().length - 1
      throw unreadable(place, `is no valid YAML at line ${line} (${problem.code})${cut ? ': it may be cut off' : ''}`, [
        'mend that line, or give JSON',
      ])
    }
    if (document.contents === null) return []
    try {
      const value = document.toJS({maxAliasCount: maxAliases}) as unknown
      if (isDeeper(value, maxDepth)) throw new RangeError('too deep')
      return [{place, value}]
    } catch (error) {
      if (error instanceof RangeError) throw tooDeep(place)
      if (error instanceof Error && error.message.startsWith('Excessive alias'))
        throw unreadable(place, `uses its YAML anchors more than ${maxAliases} times`, [
          'write the values out, or give JSON',
        ])
      // An alias without its anchor, a merge of what is no map: the parser's own words quote the text.
      throw unreadable(place, 'uses a YAML alias or merge key (<<) that leads to nothing usable', [
        'an anchor holds within its own document only; write the values out, or give JSON',
      ])
    }
  })
}

/** True below more levels than that; an anchor that holds itself is endless. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1))
}

function placeOf(file: string, index: number, count: number): string {
  return count === 1 ? file : `${file} (document ${index + 1})`
}

function tooDeep(place: string): SrcipError {
  return unreadable(place, 'is nested too deeply to be a description of a cluster', [formHint])
}
