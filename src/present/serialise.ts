import type {SrcipDocument} from '../model/documents.ts'
import {printableJson} from './table.ts'

/** The document as JSON text with a final newline, keys in the order in which the document states them. */
export function toJson(document: SrcipDocument): string {
  return `${printableJson(JSON.stringify(document, null, 2))}\n`
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
