import {readFileSync} from 'node:fs'
import {join} from 'node:path'

/**
 * Replaces the hint under "command … not found" by the nearest command names of the manifest; other lines pass unchanged.
 * Nothing is asked and nothing is run in place of what was typed (style.md W15).
 */
export function suggestCommands(argv: readonly string[], lines: readonly string[], root: string): readonly string[] {
  if (!/\bnot found$/.test(lines[0] ?? '')) return lines
  const manifest = JSON.parse(readFileSync(join(root, 'oclif.manifest.json'), 'utf8')) as {
    commands: Record<string, unknown>
  }
  const typed = argv.filter((word) => !word.startsWith('-')).slice(0, 2)
  if (typed.length === 0) return [`error: nonexistent flag: ${argv[0] ?? ''}`, '  add --help to see all commands']
  const names = nearest(typed, Object.keys(manifest.commands))
  const text = typed.join(' ')
  return [
    `error: no command is called ${JSON.stringify(text)}`,
    names.length === 0 ? '  add --help to see all commands' : `  did you mean: ${names.join(', ')}?`,
  ]
}

function nearest(typed: readonly string[], ids: readonly string[]): string[] {
  return ids
    .map((id) => {
      const words = id.split(':')
      const wanted = typed.slice(0, words.length).join(' ')
      return {name: words.join(' '), distance: editDistance(wanted, words.join(' '))}
    })
    .filter(({name, distance}) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .toSorted((a, b) => a.distance - b.distance || a.name.localeCompare(b.name, 'en'))
    .slice(0, 3)
    .map(({name}) => name)
}

/** Levenshtein distance over UTF-16 units; inputs are command words, so quadratic cost is fine. */
function editDistance(a: string, b: string): number {
  let row = Array.from({length: b.length + 1}, (_, index) => index)
  for (let i = 1; i <= Math.min(a.length, 200); i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(
        Math.min(
          (row[j] as number) + 1,
          (next[j - 1] as number) + 1,
          (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
        ),
      )
    }
    row = next
  }
  return row[b.length] as number
}
