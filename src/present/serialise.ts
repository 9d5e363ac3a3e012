import type {SrcipDocument} from '../model/documents.ts'
import {printableJson} from './table.ts'

/** The document as JSON text with a final newline, keys in the order in which the document states them. */
export function toJson(document: SrcipDocument): string {
  return `${printableJson(JSON.stringify(document, null, 2))}\n`
}

/**
 * `toJson` piece by piece: a document of tens of thousands of objects is never one text. The pieces together are the same
 * bytes.
 */
export function* jsonPieces(document: SrcipDocument): Generator<string> {
  let piece = '{'
  let first = true
  for (const [key, value] of Object.entries(document)) {
    if (value === undefined) continue
    piece += `${first ? '' : ','}\n  ${JSON.stringify(key)}: `
    first = false
    if (!Array.isArray(value) || value.length === 0) {
      piece += indented(value, '  ')
      continue
    }
    for (const [index, item] of value.entries()) {
      piece += `${index === 0 ? '[' : ','}\n    ${indented(item, '    ')}`
      if (piece.length < pieceLength) continue
      yield printableJson(piece)
      piece = ''
    }
    piece += '\n  ]'
  }
  yield printableJson(`${piece}${first ? '' : '\n'}}\n`)
}

/** Characters of a piece, about. */
const pieceLength = 1 << 16

function indented(value: unknown, by: string): string {
  return (JSON.stringify(value, null, 2) ?? 'null').replaceAll('\n', `\n${by}`)
}

/** The document as YAML; keys sorted, so that two runs can be compared line by line. */
export async function toYaml(document: SrcipDocument): Promise<string> {
  const {toYamlText} = await import('./yaml.ts')
  return toYamlText(document)
}

/**
 * Filters the JSON form with a jq program (`--jq`), one result a line, strings raw as with `jq -r`.
 * Throws with jq's own message when the program does not compile or fails.
 */
export async function filterWithJq(document: SrcipDocument, program: string): Promise<string> {
  const jq = await import('jq-wasm')
  const text = await jq.raw(JSON.stringify(document), program, ['-r'])
  return text === '' ? '' : `${text.trimEnd()}\n`
}
