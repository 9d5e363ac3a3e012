import {Document, visit} from 'yaml'
import {printableJson, hasUnsafe} from './table.ts'

/** Plain data as YAML with sorted keys, no folded lines and no aliases; what steers a terminal stands escaped in double quotes. A module of its own, loaded only when asked for. */
export function toYamlText(value: unknown): string {
  const document = new Document(JSON.parse(JSON.stringify(value)), {sortMapEntries: true, aliasDuplicateObjects: false})
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value === 'string' && hasUnsafe(node.value)) node.type = 'QUOTE_DOUBLE'
    },
  })
  return printableJson(document.toString({lineWidth: 0}))
}
