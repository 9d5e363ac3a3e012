import {describe, expect, test} from 'vitest'
import {
  answersByZone,
  hasReload,
  parseCorefile,
  type EditPlan,
  type PrepareHostAnswers,
} from '../../../plugins/coredns/src/index.ts'
import {
  begin,
  bytes,
  caseFiles,
  cleaned,
  edited,
  end,
  exact,
  target,
  text,
  planEdit,
  planRemoval,
} from './edit-support.ts'

const hosts = exact('shop.example.org', 'app.example.org')
const rules = ['app.example.org', 'shop.example.org'].map((name) => `rewrite name exact ${name} ${target}.`)
const plan = (corefile: Uint8Array | string, more = {}): EditPlan =>
  planEdit({corefile: typeof corefile === 'string' ? bytes(corefile) : corefile, hosts, ...more})

/** What a section of both hosts looks like. */
const section = (indent = '    ', eol = '\n'): string =>
  [begin, ...rules, end].map((line) => indent + line + eol).join('')

describe('B01: spellings of the root zone', () => {
  const headers: Record<string, string> = {
    'a-bare-dot': '. {\n',
    'b-two-zones-one-header': 'cluster.local:53 .:53 {\n',
    'c-scheme': 'dns://.:53 {\n',
    'd-brace-on-next-line': '.:53\n{\n',
    'e-comma-continued-header': 'cluster.local:53,\n.:53 {\n',
    'f-header-comment': '.:53 { # main block, do not touch }\n',
    'g-other-port-first': '\n.:53 {\n',
    'i-quoted-key': '".:53" {\n',
  }
  const files = caseFiles('B01')

  test.each(Object.entries(headers))('%s', (name, header) => {
    const before = files.get(name) as Uint8Array
    const at = text(before).indexOf(header) + header.length
    expect(edited(before)).toBe(text(before).slice(0, at) + section() + text(before).slice(at))
    expect(cleaned(edited(before))).toBe(text(before))
  })

  test('h: a file without braces is refused with its line, and no second block is made', () => {
    const {files: changes, refused, taken} = plan(files.get('h-no-braces') as Uint8Array)
    expect(changes).toEqual([])
    expect(taken).toEqual([])
    expect(refused.map(({code, line}) => [code, line])).toEqual([
      ['BlockNotEditable', 1],
      ['BlockNotEditable', 1],
    ])
  })

  test('every file of the case is tested', () => {
    expect([...files.keys()].sort()).toEqual([...Object.keys(headers), 'h-no-braces'].sort())
  })

  test.each(['.:8053 {\n}\n', '.:+53 {\n}\n', '.:053 {\n}\n', 'a . b {\n}\n', '. {\n\n}\n'])('also %j', (file) => {
    const before = file.replace('\n}', '\n    kubernetes cluster.local\n    reload\n}')
    expect(edited(before)).toContain(`{\n${section()}`)
    expect(cleaned(edited(before))).toBe(before)
  })
})

describe('B03: headers that CoreDNS itself misreads', () => {
  test.each([
    ['a-glued-brace', 'SuspiciousKey', 1, 'CoreDNS reads the zone as ".:53{"', 'put a space before the brace'],
    ['b-rke2-partial-servers', 'SuspiciousKey', 1, 'CoreDNS reads the zone as ".{"', 'put a space before the brace'],
    ['c-one-line', 'DoesNotParse', 1, 'a closing brace must stand on its own line', 'line break'],
    ['d-brace-shares-line', 'DoesNotParse', 3, 'a closing brace must stand on its own line', 'line break'],
    ['e-port-only-key', 'SuspiciousKey', 1, 'CoreDNS reads the zone as ":53"', 'write .:53'],
  ])('%s', (name, code, line, reason, remedy) => {
    const {refusal, files, edits} = plan(caseFiles('B03').get(name) as Uint8Array)
    expect(refusal).toMatchObject({code, line})
    expect(refusal?.reason).toContain(reason)
    expect(refusal?.remedy).toContain(remedy)
    expect([files, edits]).toEqual([[], []])
  })

  test.each([
    ['.:53 {\n reload\n}\n}\n', 'SuspiciousBraces', 4],
    ['.:53 {\n log . {\n  class error\n }\n', 'SuspiciousBraces', 1],
    ['# .:53 {\n errors\n reload\n}\n', 'SuspiciousKey', 2],
    ['errors {\n log\n}\n. {\n reload\n}\n', 'SuspiciousKey', 1],
    ['. {\n reload\n}\nexample.org:53x {\n log\n}\n', 'SuspiciousKey', 4],
    ['. {\n reload\n} import x\n', 'SuspiciousKey', 3],
    ['{\n log\n}\n. {\n reload\n}\n', 'SuspiciousBraces', 1],
    ['. {\n reload\n}# note of ours\n', 'GluedComment', 3],
    ['. {\n log "a\n}\n', 'UnterminatedQuote', 2],
    ['. {\n reload\n}\na.b, {\n}\n', 'DoesNotParse', 4],
    ['example.org {\n reload\n}\n', 'NoRootZone', undefined],
    ['.:54 {\n}\n.:55 {\n}\n', 'NoRootZone', undefined],
    ['', 'NoServerBlock', undefined],
    ['# nothing\n(s) {\n log\n}\n', 'NoServerBlock', undefined],
    ['. {\n reload\u0000\n}\n', 'NotText', 2],
    ['. {\n reload\n}\n. {\n}\n', 'NotLoadable', 4],
    ['. {\n cache 30\n cache 60\n}\n', 'NotLoadable', 3],
    ['(s) {\n log\n}\n. {\n import s\n import s\n}\n', 'RepeatedImport', 6],
  ])('%j is refused as %s', (file, code, line) => {
    const {refusal, files} = plan(file)
    expect([refusal?.code, refusal?.line]).toEqual([code, line])
    expect(files).toEqual([])
  })
})

describe('B05: bytes', () => {
  const files = caseFiles('B05')

  test('a: all CRLF', () => {
    const after = edited(files.get('a-crlf') as Uint8Array)
    expect(after).toContain(`{\r\n${section('    ', '\r\n')}    errors\r\n`)
    expect(after.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  })
  test('b: tabs', () => expect(edited(files.get('b-tabs') as Uint8Array)).toContain(`{\n${section('\t')}\terrors\n`))
  test('c: no newline at the end', () => expect(edited(files.get('c-no-newline-at-eof') as Uint8Array)).toMatch(/\}$/))
  test('d: blanks at line ends', () => {
    const after = edited(files.get('d-trailing-spaces') as Uint8Array)
    expect(after).toContain(`{\n${section()}    errors  \n`)
    expect(after).toContain('    cache 30 \n')
  })
  test('e: the line end of the line above', () => {
    const mixed = '.:53 {\r\n    errors\n    reload\r\n}\n'
    expect(edited(mixed)).toBe(`.:53 {\r\n${section('    ', '\r\n')}    errors\n    reload\r\n}\n`)
    expect(edited('.:53 {\n    errors\r\n}\r\n')).toBe(`.:53 {\n${section()}    errors\r\n}\r\n`)
  })
  test('f: the byte order mark stays first', () => {
    expect(edited(files.get('f-bom') as Uint8Array)).toMatch(/^\ufeff\.:53 \{\n {4}# === BEGIN/)
  })

  test.each([...files.keys()])('%s: remove gives the bytes back, twice is once', (name) => {
    const before = files.get(name) as Uint8Array
    const after = edited(before)
    expect(edited(after)).toBe(after)
    expect(bytes(cleaned(after))).toEqual(Uint8Array.from(before))
  })
})

describe('B07: snippets', () => {
  const before = caseFiles('B07').get('') as Uint8Array

  test('the section goes into the root block and the snippets stay', () => {
    const at = text(before).indexOf('.:53 {\n    import common\n    kubernetes') + '.:53 {\n'.length
    expect(edited(before)).toBe(text(before).slice(0, at) + section() + text(before).slice(at))
  })

  test('reload counts through an import, and an unused snippet is no rule', () => {
    const parsed = parseCorefile(before)
    expect(hasReload(parsed)).toBe(true)
    expect(parsed.blocks.flatMap(({directives}) => directives.filter(({name}) => name === 'rewrite'))).toEqual([])
    expect(plan(before).reloads).toBe(true)
  })

  test('a rule with our target inside a snippet is left alone', () => {
    const file = `(s) {\n    rewrite name app.example.org ${target}.\n}\n.:53 {\n    import s\n    reload\n}\n`
    expect(cleaned(file)).toBe(file)
  })
})

describe('B08: damaged markers', () => {
  const files = caseFiles('B08')

  test.each([
    ['a-block-twice', [6, 8, 2, 4]],
    ['b-end-missing', [2]],
    ['c-begin-missing', [3]],
    ['d-end-before-begin', [2, 4]],
    ['e-spans-two-blocks', [2, 7]],
  ])('%s: apply and remove refuse and name the lines', (name, lines) => {
    const corefile = files.get(name) as Uint8Array
    for (const one of [plan(corefile), planRemoval({corefile, targets: [target]})]) {
      expect(one.refusal?.code).toBe('MarkersDamaged')
      expect(one.refusal?.remedy).toContain('--repair')
      for (const line of lines) expect(one.refusal?.reason).toMatch(new RegExp(`lines? (?:\\d+ to )?${line}\\b`))
      expect(one.files).toEqual([])
    }
  })

  test.each(['a-block-twice', 'b-end-missing', 'c-begin-missing', 'd-end-before-begin'])('%s: repair', (name) => {
    const corefile = files.get(name) as Uint8Array
    const bare = '.:53 {\n    errors\n    forward . /etc/resolv.conf\n    reload\n}\n'
    expect(edited(corefile, {repair: true})).toBe(bare.replace('{\n', `{\n${section()}`))
    expect(cleaned(corefile, {repair: true})).toBe(bare)
  })

  test('e: repair leaves both blocks with their own lines', () => {
    const corefile = files.get('e-spans-two-blocks') as Uint8Array
    expect(cleaned(corefile, {repair: true})).toBe(
      'example.net:53 {\n    forward . 192.0.2.53\n}\n.:53 {\n    errors\n    forward . /etc/resolv.conf\n    reload\n}\n',
    )
  })

  const operator = '    rewrite name intranet.example.net intranet.corp.svc.cluster.local.\n'

  test("f: an operator's line between the markers is kept below them, and reported", () => {
    const corefile = files.get('f-operator-line-inside') as Uint8Array
    const {notes} = plan(corefile)
    expect(notes.map(({code, at}) => [code, at?.line])).toEqual([['ForeignLineInMarkers', 4]])
    expect(edited(corefile)).toContain(`${section()}${operator}    errors\n`)
    expect(cleaned(corefile)).toBe(`.:53 {\n${operator}    errors\n    forward . /etc/resolv.conf\n    reload\n}\n`)
  })

  test.each([
    operator.replace('name ', 'name exact '),
    '    # do not remove\n',
    '    log\n',
    '    rewrite stop {\n        name exact a.example b.example\n    }\n',
    '    hosts {\n        192.0.2.1 a.example\n        fallthrough\n    }\n',
  ])('f: also %j', (line) => {
    const corefile = edited(caseFiles('B14').get('good') as Uint8Array)
    const mixed = corefile.replace(`    ${rules[1]}\n`, `${line}    ${rules[1]}\n`)
    expect(edited(mixed)).toBe(corefile.replace(`    ${end}\n`, `    ${end}\n${line}`))
    expect(cleaned(mixed)).toBe(text(caseFiles('B14').get('good') as Uint8Array).replace('{\n', `{\n${line}`))
  })

  test('g: a comment that mentions the markers is none', () => {
    const corefile = files.get('g-marker-text-in-comment') as Uint8Array
    expect(edited(corefile)).toBe(text(corefile).replace('{\n', `{\n${section()}`))
    expect(cleaned(corefile)).toBe(text(corefile))
  })

  test('h: blanks and tabs around markers do not matter', () => {
    const corefile = files.get('h-hand-reindented') as Uint8Array
    const bare = '.:53 {\n    errors\n    forward . /etc/resolv.conf\n    reload\n}\n'
    expect(edited(corefile)).toBe(bare.replace('{\n', `{\n${section()}`))
    expect(cleaned(corefile)).toBe(bare)
  })

  test.each([
    ['nested', `${begin}\n${begin}\n${end}\n${end}\n`],
    ['outside every block', null],
    ['inside a plugin', `health {\n${begin}\n${end}\n}\n`],
    ['begin of one kind only', `${begin}\n`],
  ])('%s is damage', (_, lines) => {
    const file = lines === null ? `${begin}\n.:53 {\n reload\n}\n${end}\n` : `.:53 {\n${lines} reload\n}\n`
    expect(plan(file).refusal?.code).toBe('MarkersDamaged')
    const repaired = cleaned(file, {repair: true})
    expect(repaired).not.toContain('=== ')
    expect(repaired).toContain(' reload\n')
  })

  test('marker text inside a quoted word is none', () => {
    const file = `.:53 {\n    log . "\n${begin}\n"\n    reload\n}\n`
    expect(edited(file)).toBe(file.replace('{\n', `{\n${section()}`))
  })

  test('one section in each of two blocks is in order, and the one without hosts goes', () => {
    const both = `example.org {\n${section()}    forward . 192.0.2.1\n}\n.:53 {\n${section()}    reload\n}\n`
    expect(edited(both)).toBe(both.replace(`.:53 {\n${section()}`, '.:53 {\n'))
  })

  test('a section further down moves to the top', () => {
    const low = `.:53 {\n    errors\n${section()}    reload\n}\n`
    expect(edited(low)).toBe(`.:53 {\n${section()}    errors\n    reload\n}\n`)
    expect(plan(low).notes.map(({code}) => code)).toEqual(['SectionMoved'])
  })
})

describe('B14: a starting file that CoreDNS refuses', () => {
  test.each([
    ['a-syntax-error', 'DoesNotParse', 17],
    ['b-setup-error', 'NotLoadable', 15],
    ['c-unknown-plugin', 'DoesNotParse', 16],
  ])('%s is refused with its line', (name, code, line) => {
    expect(plan(caseFiles('B14').get(name) as Uint8Array).refusal).toMatchObject({code, line})
  })

  test("a caller's own check counts, before and after", () => {
    const error = {phase: 'setup', message: 'plugin/x: no', file: '/etc/coredns/Corefile', line: 2} as const
    const good = caseFiles('B14').get('good') as Uint8Array
    expect(plan(good, {check: () => error}).refusal).toMatchObject({code: 'NotLoadable', line: 2})
    const check = (parsed: {blocks: readonly {directives: readonly {name: string}[]}[]}): typeof error | undefined =>
      parsed.blocks.some(({directives}) => directives[0]?.name === 'rewrite') ? error : undefined
    expect(plan(good, {check}).refusal?.code).toBe('WouldChangeOthers')
  })
})

describe('B15: reload', () => {
  test.each([
    ['a-absent', false],
    ['b-only-as-a-property', false],
    ['c-commented', false],
    ['d-in-another-block', true],
  ])('%s: %s', (name, reloads) => {
    const {reloads: found, notes, refusal} = plan(caseFiles('B15').get(name) as Uint8Array)
    expect(refusal).toBeUndefined()
    expect(found).toBe(reloads)
    expect(notes.some(({code}) => code === 'NoReload')).toBe(!reloads)
  })
})

describe('B16: markers that another writer stripped', () => {
  const after = caseFiles('B16').get('after') as Uint8Array
  const bare = text(after)
    .split('\n')
    .filter((line) => !line.includes('rewrite'))
    .join('\n')

  test('apply takes the unmarked lines over: every host once, between markers', () => {
    expect(edited(after)).toBe(bare.replace('{\n', `{\n${section()}`))
    expect(plan(after).notes.map(({code, at}) => [code, at?.line])).toEqual([['MarkersMissing', 2]])
  })

  test('remove leaves no line with our target, and says so', () => {
    expect(cleaned(after)).toBe(bare)
    expect(planRemoval({corefile: after, targets: [target]}).notes[0]?.code).toBe('MarkersMissing')
  })

  test.each([
    `    rewrite name a.example other.${target}.\n`,
    `    rewrite name exact a.example srcip-proxy.srcip.svc.cluster.local.example.\n`,
    `    rewrite name suffix .a.example .${target}.\n`,
    `    rewrite name ${target}. a.example\n`,
    `    rewrite continue name exact a.example ${target}.\n`,
  ])('%j is never touched', (line) => {
    const mixed = text(after).replace('    errors\n', `${line}    errors\n`)
    expect(cleaned(mixed)).toBe(bare.replace('{\n', `{\n${line}`))
  })

  test('packed rules, wildcards and spared names are found again as well', () => {
    const many = Array.from({length: 300}, (_, index) => `h${index}.example.org`)
    const wild = {name: '*.apps.example.org', kind: 'wildcard-one-label', target} as const
    const request = {hosts: [...exact(...many), wild], wildcards: true, spared: ['api.apps.example.org']}
    const full = edited(bare, request)
    const stripped = full.replaceAll(/.*=== .*\n/g, '')
    expect(stripped).toContain('rewrite name exact api.apps.example.org api.apps.example.org.\n')
    expect(edited(stripped, request)).toBe(full)
    expect(cleaned(stripped)).toBe(bare)
  })

  test('the shape that kubeadm leaves without final dots and with other case is ours too', () => {
    const odd = bare.replace('{\n', `{\n    rewrite stop name exact app.example.org ${target.toUpperCase()}\n`)
    expect(cleaned(odd)).toBe(bare)
  })
})

describe('rules of operators', () => {
  const corefile = '.:53 {\n    errors\n    rewrite name app.example.org x.y.svc.cluster.local.\n    reload\n}\n'
  /** Stands in for the simulator: any rewrite that names the host catches it. */
  const answers: PrepareHostAnswers = (parsed, options) => {
    const choose = answersByZone(parsed, options)
    return (query) => {
      const {blocks} = choose(query)
      const caughtBy = blocks.flatMap((block) =>
        (parsed.blocks[block]?.directives ?? [])
          .filter(
            (one) =>
              one.name === 'rewrite' && !query.ours(one) && one.tokens.some(({text: word}) => word === query.host.name),
          )
          .map((directive) => ({
            block,
            directive,
            file: directive.tokens[0]?.file ?? '',
            line: directive.tokens[0]?.line ?? 0,
            text: directive.tokens.map(({text: word}) => word).join(' '),
          })),
      )
      return {blocks, caughtBy}
    }
  }

  test('a caught host is refused with the line, the others are taken', () => {
    const {refused, taken} = plan(corefile, {answers})
    expect(refused.map(({code, line, name}) => [code, line, name])).toEqual([
      ['CaughtByOperatorRule', 3, 'app.example.org'],
    ])
    expect(taken.map(({name}) => name)).toEqual(['shop.example.org'])
  })

  test('--before takes it and names what it overrides; the next plan keeps it', () => {
    const {notes, files} = plan(corefile, {answers, before: true})
    expect(notes.map(({code, at}) => [code, at?.line])).toEqual([['OverridesOperatorRule', 3]])
    const after = files[0]?.after as Uint8Array
    const again = plan(after, {answers})
    expect([again.files, again.refused]).toEqual([[], []])
  })

  test('an import key behind such a rule cannot take the host, one before it can with --before', () => {
    const key = '/etc/coredns/custom/srcip.override'
    const importLine = '    import custom/*.override\n'
    const behind = corefile.replace('    reload\n', `${importLine}    reload\n`)
    const options = {answers, before: true, importKeys: [key]}
    expect(plan(behind, options).refused.map(({code, line}) => [code, line])).toEqual([['ShadowedByRule', 3]])
    const ahead = corefile.replace('    errors\n', `${importLine}    errors\n`)
    expect(plan(ahead, options).refused).toEqual([])
    expect(plan(ahead, {...options, before: false}).refused[0]?.code).toBe('CaughtByOperatorRule')
  })
})
