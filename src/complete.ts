import {readFileSync} from 'node:fs'
import {candidates, type Manifest} from './cli/completion.ts'

/** Answers kubectl's completion call: one candidate a line, `value<TAB>description`, last line the cobra directive. */
export function complete(words: readonly string[], root: URL): string {
  const manifest = JSON.parse(readFileSync(new URL('oclif.manifest.json', root), 'utf8')) as Manifest
  const {lines, directive} = candidates(words, manifest)
  return [
    ...lines.map(({value, description}) => (description === '' ? value : `${value}\t${description}`)),
    `:${directive}`,
    '',
  ].join('\n')
}
