import {createTwoFilesPatch, FILE_HEADERS_ONLY} from 'diff'
import {printable} from './table.ts'

/**
 * The change from `before` to `after` as `diff -u` would print it, with `name` in both headers; empty when nothing differs.
 * Lines keep their text, but control characters are shown escaped (a Corefile is hostile text on a terminal); a carriage
 * return at the end of a line shows as `\x0d`, since it is a difference that a person must be able to see.
 */
export function unifiedDiff(name: string, before: string, after: string, color: boolean): string {
  if (before === after) return ''
  const patch = createTwoFilesPatch(`a/${name}`, `b/${name}`, before, after, undefined, undefined, {
    context: 3,
    headerOptions: FILE_HEADERS_ONLY,
  })
  return patch
    .split('\n')
    .map((line) => paint(printableLine(line), color))
    .join('\n')
}

function printableLine(line: string): string {
  return line.split('\t').map(printable).join('\t')
}

function paint(line: string, color: boolean): string {
  if (!color) return line
  if (line.startsWith('+++') || line.startsWith('---')) return `\u001b[1m${line}\u001b[0m`
  if (line.startsWith('@@')) return `\u001b[36m${line}\u001b[0m`
  if (line.startsWith('+')) return `\u001b[32m${line}\u001b[0m`
  if (line.startsWith('-')) return `\u001b[31m${line}\u001b[0m`
  return line
}
