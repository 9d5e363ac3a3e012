/** Files beside the Corefile of these patterns; the folder `custom` is there and empty. */
export const importedFiles: Readonly<Record<string, string>> = {
  'lib/a.part': 'a\n',
  'lib/é.part': 'é\n',
  'lib/[.o': 'bracket\n',
}

/** What reading says: the plugins it found, or a word for the error. */
export function outcomeOf(message: string | undefined, plugins: readonly string[]): string {
  if (message === undefined || message === '') return plugins.length === 0 ? 'empty' : plugins.join(' ')
  if (message.endsWith('syntax error in pattern')) return 'malformed'
  if (message.includes('File to import not found')) return 'not found'
  if (message.includes('may only contain one wildcard')) return 'too wild'
  return message
}

const malformed = [
  'lib/*.part\\',
  'lib/*[',
  'lib/*.[',
  'custom/a[',
  'custom/[*',
  'lib[/a.part',
  '*[/a.part',
  String.raw`lib\/a.part`,
  String.raw`*\/a.part`,
  'lib/\\',
  'missing/a\\',
  'l*/a\\',
  'l?b/a\\',
  `{$HERE}/*${'/'.repeat(10_000)}`,
]

/**
 * Import patterns and what becomes of them. Go reads a pattern only as far as it must: behind the first `*` nothing is checked
 * until there is a name to check it with, so what an empty folder hides breaks CoreDNS with the first file in it.
 */
export const importPatterns: readonly {readonly pattern: string; readonly outcome: string}[] = [
  ...malformed.map((pattern) => ({pattern, outcome: 'malformed'})),
  ...Object.entries({
    'custom/*.part\\': 'empty',
    'custom/*[': 'empty',
    'missing/*.part\\': 'empty',
    'c*/a\\': 'empty',
    [String.raw`l\ib/a.part`]: 'a',
    [String.raw`lib/\[x]`]: 'too wild',
    [String.raw`lib/\[.o`]: 'bracket',
    [String.raw`lib/\a.part`]: 'a',
    [String.raw`lib/\*.part`]: 'empty',
    'lib/?.part': 'a é',
    'lib/*.part': 'a é',
    'lib/?.par*': 'a é',
    [String.raw`lib/*\.part`]: 'a é',
    '{$HERE}//lib/a.part': 'a',
    '{$HERE}/missing/../lib/a.part': 'not found',
    '{$HERE}/missing/../lib/*.part': 'empty',
    '{$HERE}/custom/../lib/*.part': 'a é',
    '{$HERE}/lib/a.part/': 'not found',
    '{$HERE}/lib/a.part/*': 'empty',
    'lib/]': 'empty',
  }).map(([pattern, outcome]) => ({pattern, outcome})),
]
