/** The YAML parser, in a module of its own so that it can be loaded late: the bundler cannot hand out names of a CommonJS package. */
import {isScalar, parseDocument, visit} from 'yaml'
import type {Document} from 'yaml'

/**
 * Parses one YAML document in a time that grows with its size: the parser's own check for duplicate keys compares each key
 * with all before it, so keys are checked here.
 * @returns the document, and the line (1-based) of the first key that stands twice in one map
 */
export function parseYamlDocument(text: string): {document: Document; duplicateKeyLine: number | undefined} {
  const document = parseDocument(text, {logLevel: 'silent', prettyErrors: true, uniqueKeys: false})
  return {document, duplicateKeyLine: duplicateKeyLine(document, text)}
}

function duplicateKeyLine(document: Document, text: string): number | undefined {
  let line: number | undefined
  visit(document, {
    Map: (_, map) => {
      const seen = new Set<unknown>()
      for (const {key} of map.items) {
        if (!isScalar(key)) continue
        if (seen.has(key.value)) {
          line = text.slice(0, key.range?.[0] ?? 0).split('\n').length
          return visit.BREAK
        }
        seen.add(key.value)
      }
      return undefined
    },
  })
  return line
}
