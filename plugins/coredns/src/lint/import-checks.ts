import {directivesOf} from '../directives.ts'
import type {Check} from './subject.ts'
import {found} from './subject.ts'

/** The same snippet (or file) twice in a block: the copies carry the same line numbers and run together. */
const importedTwice: Check = ({parsed}) => {
  const places = new Map<string, {first: number; others: boolean}>()
  return parsed.imports.flatMap((use) => {
    if (use.block < 0) return []
    const key = JSON.stringify([use.block, use.resolved, use.file])
    const place = places.get(key)
    if (place === undefined) places.set(key, {first: use.start, others: false})
    else place.others ||= place.first !== use.start
    if (place?.others !== true) return []
    const message = `${use.pattern} is imported into this block before: the copies have the same lines, and the second is read as arguments of the first`
    return [found('CF030', use, message, 'import it once in a block')]
  })
}

/** A snippet that imports one defined further down: its own following lines have smaller numbers and are swallowed. */
const laterSnippet: Check = ({parsed}) => {
  const lines = new Map(parsed.snippets.map(({name, key}) => [name, {line: key.line, file: key.file}]))
  return parsed.snippets.flatMap((snippet) => {
    const at = snippet.tokens.findIndex(({text}, index) => text === 'import' && snippet.tokens[index + 1] !== undefined)
    const word = snippet.tokens[at]
    const target = snippet.tokens[at + 1]
    const other = lines.get(target?.text ?? '')
    const next = snippet.tokens[at + 2]
    if (word === undefined || target === undefined || other === undefined || next === undefined || next.text === '}')
      return []
    if (other.file !== word.file || other.line <= word.line) return []
    const message = `(${target.text}) stands below: the lines behind this import have smaller numbers and are read as arguments of its last line`
    return [found('CF031', word, message, `define (${target.text}) above (${snippet.name})`)]
  })
}

const missingImport: Check = ({parsed}) => {
  const name = /File to import not found: (.*)$/s.exec(parsed.error?.message ?? '')?.[1]
  if (parsed.error === undefined || name === undefined) return []
  const at = {file: parsed.error.file === parsed.path ? '' : parsed.error.file, line: parsed.error.line}
  const below = parsed.mainTokens.find(({text}) => text === `(${name})`)
  if (below !== undefined) {
    return [
      found(
        'CF032',
        at,
        `snippet (${name}) is defined on line ${below.line}, below its use`,
        'move the snippet above the block',
      ),
    ]
  }
  const message = `${name} is neither a snippet nor a file: CoreDNS refuses the Corefile`
  return [found('CF033', at, message, 'mount the file, or use a pattern with a *, which may match nothing')]
}

/** The same where the files are not known: what the import names is most likely the snippet below, not a file. */
const snippetBelow: Check = ({parsed}) =>
  parsed.imports.flatMap((use) => {
    if (use.kind !== 'unknown') return []
    const below = parsed.mainTokens.find(({text}) => text === `(${use.pattern})`)
    if (below === undefined) return []
    const message = `snippet (${use.pattern}) is defined on line ${below.line}, below its use`
    return [found('CF032', use, message, 'move the snippet above the block')]
  })

const emptyPattern: Check = ({parsed}) =>
  parsed.imports
    .filter(({kind, files}) => kind === 'file' && files.length === 0)
    .map((use) =>
      found(
        'CF034',
        use,
        `${use.pattern} matches no file now; CoreDNS logs a warning at each look`,
        'take the line out if nothing is meant to come',
      ),
    )

/** `custom/*` takes the `..data` folder of a ConfigMap volume, which is an error. */
const directoryPattern: Check = ({parsed}) =>
  parsed.imports
    .filter(({pattern}) => /(^|\/)\*$/.test(pattern))
    .map((use) =>
      found(
        'CF035',
        use,
        `${use.pattern} also takes directories: in a mounted ConfigMap there always is one (..data), and CoreDNS refuses it`,
        'use a pattern with an ending, such as *.override',
      ),
    )

/** 10-a before 9-b: who thinks of numbers is surprised. */
const sortedBytewise: Check = ({parsed}) =>
  parsed.imports.flatMap((use) => {
    const names = use.files.map((path) => path.slice(path.lastIndexOf('/') + 1))
    const numbers = names.map((name) => /^\d+/.exec(name)?.[0])
    for (let at = 1; at < numbers.length; at += 1) {
      const [before, after] = [numbers[at - 1], numbers[at]]
      if (before === undefined || after === undefined || Number(before) <= Number(after)) continue
      const order = `${names[at - 1] ?? ''} is read before ${names[at] ?? ''}`
      return [
        found('CF036', use, `${order}: names are compared byte by byte`, 'give the numbers the same length (09-, 10-)'),
      ]
    }
    return []
  })

const cycle: Check = ({parsed}) => {
  const {error} = parsed
  const limits = /maximum snippet|maximum number of|infinite|cycle|self-import|cannot import itself/i
  if (error === undefined || (error.phase !== 'hang' && !limits.test(error.message))) return []
  const at = {file: error.file === parsed.path ? '' : error.file, line: error.line}
  return [found('CF037', at, `imports go in a circle: ${error.message}`, 'take one of the imports out')]
}

const unreadable: Check = ({parsed}) =>
  parsed.imports
    .filter(({kind}) => kind === 'unknown')
    .map((use) =>
      found(
        'CF038',
        use,
        `what ${use.pattern} brings could not be read, so it was not judged`,
        'lint the file where the import can be read',
      ),
    )

const unusedSnippet: Check = ({parsed}) => {
  const known = new Set([...directivesOf(parsed.version), 'import'])
  const used = new Set(parsed.imports.filter(({kind}) => kind === 'snippet').map(({resolved}) => resolved))
  return parsed.snippets.flatMap((snippet) => {
    if (used.has(snippet.name)) return []
    let depth = 0
    let line = -1
    for (const token of snippet.tokens) {
      if (token.text === '{') depth += 1
      else if (token.text === '}') depth -= 1
      else if (depth === 0 && token.line !== line && !known.has(token.text)) {
        return [
          found(
            'CF039',
            token,
            `${JSON.stringify(token.text)} is no plugin; nobody notices while (${snippet.name}) is not used`,
            'correct the word, or take the snippet out',
          ),
        ]
      }
      line = token.line
    }
    return []
  })
}

/** Sections 2.4 and 2.5 of the reference: snippets and imported files. */
export const importChecks: readonly Check[] = [
  importedTwice,
  laterSnippet,
  missingImport,
  snippetBelow,
  emptyPattern,
  directoryPattern,
  sortedBytewise,
  cycle,
  unreadable,
  unusedSnippet,
]
