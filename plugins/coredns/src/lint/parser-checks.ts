import {directivesOf} from '../directives.ts'
import type {Token} from '../types.ts'
import type {Check, Subject} from './subject.ts'
import {found} from './subject.ts'

const noBlock: Check = ({parsed}) => {
  if (parsed.error !== undefined || parsed.blocks.length > 0) return []
  const message =
    'nothing here makes a server block: CoreDNS starts with a built-in one (whoami and log), and cluster DNS is gone'
  return [found('CF021', {file: '', line: 0}, message, 'put a block like ".:53 { … }" into the file')]
}

/** A `{` with no key before it: its directives are read and thrown away. */
const keylessBlock: Check = ({parsed}) => {
  const {mainTokens} = parsed
  const depthZero: number[] = []
  let depth = 0
  for (const [index, {raw}] of mainTokens.entries()) {
    if (raw === '{') {
      if (depth === 0) depthZero.push(index)
      depth += 1
    } else if (raw === '}') depth = Math.max(0, depth - 1)
  }
  return depthZero.flatMap((index) => {
    const brace = mainTokens[index]
    const before = mainTokens[index - 1]
    if (brace === undefined || (before !== undefined && before.raw !== '}')) return []
    const keys = parsed.blocks.some(({open}) => open?.file === '' && open.start === brace.start)
    if (keys) return []
    return [
      found(
        'CF022',
        brace,
        'a block without a zone before its brace is read and thrown away',
        'put the zone before the brace',
      ),
    ]
  })
}

const braceAsZone: Check = ({parsed}) =>
  parsed.blocks.flatMap((block) =>
    block.keyTokens
      .filter(({text}) => text === '{' || text === '}')
      .map((token) =>
        found(
          'CF023',
          token,
          `this ${token.text} closes or opens nothing: CoreDNS serves a zone of that name`,
          'take the brace out',
        ),
      ),
  )

const missingBrace: Check = ({parsed}) =>
  parsed.error !== undefined
    ? []
    : parsed.blocks.flatMap((block) => {
        if (block.open === undefined || block.close !== undefined) return []
        const message = 'the block is never closed; CoreDNS lets it pass because the last word happens to be a brace'
        return [found('CF024', block.open, message, 'close the block with a } of its own')]
      })

const lostHeader: Check = ({parsed}) => {
  const names = new Set(directivesOf(parsed.version))
  return parsed.blocks.flatMap((block) => {
    const [token] = block.keyTokens
    if (token === undefined || !block.keys.some((key) => names.has(key.replace(/:\d+$/, '')))) return []
    // The remains of a block that an imported file closed: told there.
    if (parsed.blocks.some((other) => closedElsewhere(other.open, other.close))) return []
    const message = `${JSON.stringify(token.text)} is a plugin, but stands where a zone is expected: CoreDNS serves it as a zone and refuses everything else`
    return [found('CF025', token, message, 'put back the line with the zone and its opening brace')]
  })
}

function closedElsewhere(open: Token | undefined, close: Token | undefined): boolean {
  return open !== undefined && close !== undefined && open.file !== close.file
}

const closedByImport: Check = ({parsed}) =>
  parsed.blocks.flatMap(({open, close, keys}) => {
    if (!closedElsewhere(open, close) || close === undefined) return []
    const message = `this brace closes the block ${keys.join(' ')} of another file; what follows the import there becomes a zone`
    return [found('CF026', close, message, 'take the brace out of the imported file')]
  })

/** `} b.example {` and `} import x`: whatever stands behind a closing brace on its line are keys. */
const wordsBehindBrace: Check = ({parsed}) =>
  parsed.blocks.flatMap((block, index) => {
    const close = parsed.blocks[index - 1]?.close
    const [token] = block.keyTokens
    if (close === undefined || token === undefined || token.text === '}' || token.text === '{') return []
    if (close.file !== token.file || close.line !== token.line) return []
    return [
      found(
        'CF027',
        token,
        `${JSON.stringify(token.text)} stands behind a closing brace: it is read as a zone`,
        'begin a new line behind the brace',
      ),
    ]
  })

const oneLineBlock: Check = ({parsed}) => {
  if (parsed.error?.message.includes("Unexpected '}' because no matching opening brace") !== true) return []
  const {line, file} = parsed.error
  if (parsed.mainTokens.some((token) => token.quoted && token.raw === '}' && token.line === line)) return []
  const at = {file: file === parsed.path ? '' : file, line}
  return [
    found(
      'CF028',
      at,
      'a closing brace on the line of a directive is taken for an argument of it',
      'put directives and the closing brace on lines of their own',
    ),
  ]
}

const commaBeforeBrace: Check = ({parsed}) => {
  if (parsed.error?.message.includes('check for extra comma') !== true) return []
  const {line, file} = parsed.error
  const at = {file: file === parsed.path ? '' : file, line}
  return [found('CF029', at, 'a comma announces another zone, and a brace comes', 'take the comma out')]
}

const unknownDirective: Check = (subject) => {
  const {parsed} = subject
  const name = /Unknown directive '(.*)'/s.exec(parsed.error?.message ?? '')?.[1]
  if (parsed.error === undefined || name === undefined) return []
  const {line} = parsed.error
  const file = parsed.error.file === parsed.path ? '' : parsed.error.file
  // Told by other rules: a brace in the word, a line that a backslash should have continued, a block without a zone.
  if (/[{}]/.test(name) || parsed.mainTokens.some((token) => token.raw === '\\' && token.line === line - 1)) return []
  if (keylessBlock(subject).length > 0) return []
  const token = parsed.mainTokens.find((one) => file === '' && one.line === line && one.text === name)
  return [
    found(
      'CF040',
      token ?? {file, line},
      `CoreDNS ${versionText(subject)} has no plugin ${JSON.stringify(name)}`,
      'correct the word, or use a build that has the plugin',
    ),
  ]
}

function versionText({parsed}: Subject): string {
  const {major, minor, patch} = parsed.version
  return `${major}.${minor}.${patch}`
}

/** A plugin's own brace must stand on its line; on the next it is grouped with it, and then read as a second use. */
const braceOnNextLine: Check = ({parsed}) =>
  parsed.blocks.flatMap((block) =>
    block.directives.flatMap(({tokens, name}) => {
      const at = tokens.findIndex(({text}) => text === '{')
      const brace = tokens[at]
      const before = tokens[at - 1]
      if (brace === undefined || before === undefined || before.file !== brace.file || before.line >= brace.line)
        return []
      return [
        found(
          'CF041',
          brace,
          `the options of ${name} begin on the next line: CoreDNS reads the brace as another ${name}`,
          `put the { on the line of ${name}`,
        ),
      ]
    }),
  )

const oddKeys: Check = ({parsed}) =>
  parsed.blocks.flatMap((block) =>
    block.keyTokens
      .filter(
        ({text}) => /[(){}",#]/.test(text.replace(/,$/, '')) && text !== '{' && text !== '}' && !/[{}]$/.test(text),
      )
      .map((token) =>
        found(
          'CF042',
          token,
          `${JSON.stringify(token.text)} is served as a zone of that name; no query will ask for it`,
          'write a zone name, or (name) { … } alone for a snippet',
        ),
      ),
  )

/** Section 2 of the reference: what the parser makes of the words. */
export const parserChecks: readonly Check[] = [
  noBlock,
  keylessBlock,
  braceAsZone,
  missingBrace,
  lostHeader,
  closedByImport,
  wordsBehindBrace,
  oneLineBlock,
  commaBeforeBrace,
  unknownDirective,
  braceOnNextLine,
  oddKeys,
]
