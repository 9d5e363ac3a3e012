import {describe, expect, test} from 'vitest'
import {importedFiles, importPatterns, outcomeOf} from '../../support/import-patterns.ts'
import {parseCorefile, parseVersion, sameLine, type ParseOptions} from '../../../plugins/coredns/src/index.ts'

const encoder = new TextEncoder()
const parse = (text: string, options: ParseOptions = {}): ReturnType<typeof parseCorefile> =>
  parseCorefile(encoder.encode(text), options)
const files = (entries: Record<string, string>): ReadonlyMap<string, Uint8Array> =>
  new Map(Object.entries(entries).map(([path, text]) => [path, encoder.encode(text)]))
const version = (text: string): NonNullable<ParseOptions['version']> => parseVersion(text) as never
const names = (parsed: ReturnType<typeof parse>): string[][] =>
  parsed.blocks.map((block) => block.directives.map(({name}) => name))

describe('blocks', () => {
  test('braces, keys and directives carry their tokens', () => {
    const {blocks, error} = parse('a, b:53 {\n  log . {\n    class error\n  }\n  errors\n}\n')
    expect(error).toBeUndefined()
    const [block] = blocks
    expect(block?.keys).toEqual(['a', 'b:53'])
    expect(block?.keyTokens.map(({raw}) => raw)).toEqual(['a,', 'b:53'])
    expect([block?.open?.line, block?.close?.line]).toEqual([1, 6])
    expect(block?.directives.map(({name, tokens}) => [name, tokens.map(({text}) => text).join(' ')])).toEqual([
      ['log', 'log . { class error }'],
      ['errors', 'errors'],
    ])
  })

  test('equal directives share one list, as setup sees them', () => {
    const {blocks} = parse('. {\n log a\n errors\n log b\n}\n')
    expect(blocks[0]?.tokens.get('log')?.map(({text}) => text)).toEqual(['log', 'a', 'log', 'b'])
    expect(blocks[0]?.directives.map(({name}) => name)).toEqual(['log', 'errors', 'log'])
  })

  test('a block whose brace CoreDNS takes from its last plugin has no closing token', () => {
    const {blocks, error} = parse('. {\n log . {\n  class error\n }\n')
    expect(error).toBeUndefined()
    expect(blocks[0]?.open).toBeDefined()
    expect(blocks[0]?.close).toBeUndefined()
  })

  test('blocks without keys are named, not kept', () => {
    const {blocks, keyless} = parse('{\n log\n}\n. {\n}\n')
    expect(blocks.map(({keys}) => keys)).toEqual([['.']])
    expect(keyless.map(({line}) => line)).toEqual([1])
  })
})

describe('directive names', () => {
  test.each([
    ['1.14.7', 'shed', undefined],
    ['1.14.6', 'shed', "Unknown directive 'shed'"],
    ['1.9.3', 'view', "Unknown directive 'view'"],
    ['1.10.0', 'view', undefined],
    ['1.6.9', 'federation', undefined],
    ['1.7.0', 'federation', "Unknown directive 'federation'"],
  ])('%s and %s', (release, name, message) => {
    const {error} = parse(`. {\n ${name}\n}\n`, {version: version(release)})
    expect(error?.message.split(': ')[1]).toBe(message)
  })

  test('without the list anything goes, with a list of its own exactly that', () => {
    expect(parse('. {\n foo\n}\n', {directives: false}).error).toBeUndefined()
    expect(parse('. {\n foo\n}\n', {directives: ['foo']}).error).toBeUndefined()
    expect(parse('. {\n log\n}\n', {directives: ['foo']}).error?.line).toBe(2)
  })
})

describe('imports', () => {
  test('files are found from the folder of the file that imports them, in bytewise order', () => {
    const parsed = parse('. {\n import x/*.part\n}\n', {
      path: 'conf/Corefile',
      workingDirectory: '/srv',
      files: files({
        '/srv/conf/x/b.part': 'errors\n',
        '/srv/conf/x/.a.part': 'log\n',
        '/srv/conf/x/10.part': 'loop\nimport y\n',
        '/srv/conf/x/9.part': 'ready\n',
        '/srv/conf/x/y': 'reload\n',
        '/srv/conf/x/z/c.part': 'whoami\n',
      }),
    })
    expect(parsed.error).toBeUndefined()
    expect(names(parsed)).toEqual([['log', 'loop', 'reload', 'ready', 'errors']])
    const reload = parsed.blocks[0]?.directives[2]
    expect(reload?.tokens[0]?.file).toBe('/srv/conf/x/y')
    expect(reload?.via.map(({pattern, file, line}) => [pattern, file, line])).toEqual([
      ['x/*.part', '', 2],
      ['y', '/srv/conf/x/10.part', 2],
    ])
    expect(parsed.imports.map(({kind, block}) => [kind, block])).toEqual([
      ['file', 0],
      ['file', 0],
    ])
  })

  test.each([
    ['missing', 'File to import not found: missing'],
    ['a/*/*', 'Glob pattern may only contain one wildcard (*), but has others: /etc/coredns/a/*/*'],
    ['[a]', 'Glob pattern may only contain one wildcard (*), but has others: /etc/coredns/[a]'],
    ['a[', 'Failed to use import pattern a[: syntax error in pattern'],
    ['dir', 'Could not import /etc/coredns/dir: is a directory'],
    ['di?', 'Could not import /etc/coredns/dir: is a directory'],
    ['', 'Import requires a non-empty filepath'],
    ['a b', 'Import takes only one argument (glob pattern or file)'],
  ])('import %j', (argument, message) => {
    const quoted = argument === '' ? '""' : argument
    const {error} = parse(`. {\n import ${quoted}\n}\n`, {files: files({'/etc/coredns/dir/f': ''})})
    expect(error?.message).toBe(`/etc/coredns/Corefile:2 - Error during parsing: ${message}`)
  })

  test.each(importPatterns)('the pattern $pattern is $outcome', ({pattern, outcome}) => {
    const corefile = `. {\n import ${pattern.replace('{$HERE}', '/etc/coredns')}\n}\n`
    const {error, blocks} = parse(corefile, {
      directives: false,
      directories: new Set(['/etc/coredns/custom', '/etc/coredns/lib']),
      files: files(
        Object.fromEntries(Object.entries(importedFiles).map(([path, text]) => [`/etc/coredns/${path}`, text])),
      ),
    })
    expect(outcomeOf(error?.message, blocks[0]?.directives.map(({name}) => name) ?? [])).toBe(outcome)
  })

  test('an empty glob is a warning, and an unread one is unknown where the folder is not known', () => {
    expect(parse('. {\n import custom/*.o\n}\n').warnings).toEqual([
      'No files matching import glob pattern: custom/*.o',
    ])
    const unknown = parse('. {\n import custom/*.o\n}\n', {imports: 'unknown'})
    expect(unknown.unknowns).toEqual([{kind: 'import', name: 'custom/*.o', file: '', line: 2}])
    expect(unknown.imports[0]).toMatchObject({kind: 'unknown', resolved: '/etc/coredns/custom/*.o', block: 0})
    const known = parse('. {\n import custom/*.o\n}\n', {
      imports: 'unknown',
      directories: new Set(['/etc/coredns/custom']),
    })
    expect(known.unknowns).toEqual([])
  })

  test('a cycle ends with the message of 1.13.0, and is a hang before', () => {
    const text = '(a) {\n import a\n}\n. {\n import a\n}\n'
    const limited = parse(text).error
    expect(limited?.message).toMatch(/maximum snippet import depth \(10000\) exceeded$/)
    expect(parse(text, {version: version('1.12.4')}).error?.phase).toBe('hang')
    const two = {files: files({'/etc/coredns/x': 'import y\n', '/etc/coredns/y': 'import x\n'})}
    expect(parse('import x\n', two).error?.message).toContain('maximum file import depth (10000) exceeded')
    expect(parse('import x\n', {...two, version: version('1.11.3')}).error?.phase).toBe('hang')
  })

  test('imports that grow without a cycle end as well', () => {
    const level = (name: string, below: string): string => `(${name}) {\n${` import ${below}\n`.repeat(9)}}\n`
    const text = `(l0) {\n${' log a b c d\n'.repeat(1000)}}\n${level('l1', 'l0')}${level('l2', 'l1')}${level('l3', 'l2')}${level('l4', 'l3')}. {\n import l4\n}\n`
    expect(parse(text).error?.phase).toMatch(/parse|hang/)
  })
})

describe('environment', () => {
  const env = (known: Record<string, string>, others: 'unset' | 'unknown' = 'unset'): ParseOptions => ({
    env: {known: new Map(Object.entries(known)), others},
  })

  test('references are replaced in keys, names and arguments, and the name token keeps its text', () => {
    const {blocks} = parse('.:{$P} {\n {%D%} {$A}{$NO}\n}\n', env({P: '53', D: 'errors', A: 'x{$B}', B: 'y z'}))
    expect(blocks[0]?.keys).toEqual(['.:53'])
    const [directive] = blocks[0]?.directives ?? []
    expect(directive?.name).toBe('errors')
    expect(directive?.tokens.map(({text, raw}) => [text, raw])).toEqual([
      ['{%D%}', '{%D%}'],
      ['xy z', '{$A}{$NO}'],
    ])
  })

  test('an unknown value stays as it is written, and is listed once a line', () => {
    const parsed = parse('. {\n log {$A} {$A} {$B}\n}\n', env({B: 'b'}, 'unknown'))
    expect(parsed.unknowns).toEqual([{kind: 'env', name: 'A', file: '', line: 2}])
    expect(parsed.blocks[0]?.directives[0]?.tokens.map(({text}) => text)).toEqual(['log', '{$A}', '{$A}', 'b'])
  })

  test('a value that contains itself is a hang', () => {
    expect(parse('. {\n log {$A}\n}\n', env({A: '{$A}'})).error?.phase).toBe('hang')
    expect(parse('. {\n log {$A}\n}\n', env({A: '{$A}{$A}'})).error?.phase).toBe('hang')
  })
})

test('arguments are what stands on the line a token ends on', () => {
  const [directive] = parse('. {\n log "a\nb" c\n}\n').blocks[0]?.directives ?? []
  const [name, argument, last] = directive?.tokens ?? []
  expect(sameLine(name as never, argument as never)).toBe(true)
  expect(sameLine(argument as never, last as never)).toBe(true)
})
