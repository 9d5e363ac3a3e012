import {describe, expect, test} from 'vitest'
import {
  clusterZonesOf,
  parseCorefile,
  parseVersion,
  reloadHash,
  type CorednsVersion,
  type EditRequest,
  type WantedHost,
} from '../../../plugins/coredns/src/index.ts'
import {begin, bytes, caseFiles, edited, end, exact, target, text, planEdit, planRemoval} from './edit-support.ts'

const good = caseFiles('B14').get('good') as Uint8Array
const plan = (hosts: readonly WantedHost[], more: Partial<EditRequest> = {}): ReturnType<typeof planEdit> =>
  planEdit({corefile: good, hosts, ...more})
const one = (name: string, more: Partial<WantedHost> = {}): WantedHost => ({name, kind: 'exact', target, ...more})
const version = (release: string): {parse: {version: CorednsVersion}} => ({
  parse: {version: parseVersion(release) as CorednsVersion},
})

describe('hosts that no rule is written for', () => {
  test.each<[WantedHost, string]>([
    [one(''), 'InvalidName'],
    [one('a..b'), 'InvalidName'],
    [one('a b.example'), 'InvalidName'],
    [one('a#b.example'), 'InvalidName'],
    [one('a{b.example'), 'InvalidName'],
    [one('(a).example'), 'InvalidName'],
    [one('-a.example'), 'InvalidName'],
    [one('müller.example'), 'InvalidName'],
    [one(`${'a'.repeat(64)}.example`), 'InvalidName'],
    [one(`${'a.'.repeat(130)}example`), 'InvalidName'],
    [one('*.example.org'), 'InvalidName'],
    [one('example.org', {kind: 'wildcard-one-label'}), 'InvalidName'],
    [one('*.*.example.org', {kind: 'wildcard-one-label'}), 'InvalidName'],
    [one('*.example.org', {kind: 'wildcard-one-label'}), 'WildcardsOff'],
    [one('app.example.org', {target: '*.svc.cluster.local'}), 'TargetInvalid'],
    [one('app.example.org', {target: 'localhost'}), 'TargetInvalid'],
    [one('app.example.org', {target: 'app.example.org.'}), 'TargetIsHost'],
    [one('web.demo.svc.cluster.local'), 'InClusterZone'],
    [one('cluster.local'), 'InClusterZone'],
    [one('web.demo.svc.other.zone'), 'InClusterZone'],
    [one('10.2.0.192.in-addr.arpa'), 'InReverseZone'],
    [one('8.b.d.0.1.0.0.2.ip6.arpa'), 'InReverseZone'],
  ])('%j: %s', (host, code) => {
    const {refused, taken, files} = plan([host])
    expect(refused.map((refusal) => refusal.code)).toEqual([code])
    expect(refused[0]?.remedy).not.toBe('')
    expect([taken, files]).toEqual([[], []])
  })

  test('a wildcard above the cluster zone would cover it', () => {
    const wild = one('*.local', {kind: 'wildcard-any-depth'})
    expect(plan([wild], {wildcards: true}).refused[0]?.code).toBe('InClusterZone')
  })

  test('the cluster zones are those on the kubernetes lines, and the one that is given', () => {
    const parsed = parseCorefile(
      bytes('. {\n kubernetes Kube.Example.NET. in-addr.arpa other.zone {\n  pods insecure\n }\n}\n'),
    )
    expect(clusterZonesOf(parsed)).toEqual(['kube.example.net.', 'other.zone.'])
    expect(plan([one('a.given.zone')], {clusterDomain: 'given.zone'}).refused[0]?.code).toBe('InClusterZone')
  })

  test('one host with two targets is refused for the second, repeats are one', () => {
    const {taken, refused} = plan([
      one('A.example.'),
      one('a.example'),
      one('a.example', {target: 'b.c.svc.cluster.local'}),
    ])
    expect(taken.map(({name}) => name)).toEqual(['a.example'])
    expect(refused.map(({code}) => code)).toEqual(['DuplicateName'])
  })

  test('wildcards need answer auto', () => {
    const wild = one('*.example.org', {kind: 'wildcard-one-label'})
    expect(plan([wild], {wildcards: true, ...version('1.8.3')}).refused[0]?.code).toBe('WildcardUnsupported')
    expect(plan([wild], {wildcards: true, ...version('1.8.4')}).refused).toEqual([])
  })

  test('a name in a block that is not ours to edit is refused alone', () => {
    const files = new Map([['/etc/coredns/custom/x.server', bytes('corp.example {\n    forward . 192.0.2.1\n}\n')]])
    const corefile = bytes(`${text(good)}import custom/*.server\n`)
    const {refused, taken} = planEdit({corefile, hosts: exact('a.corp.example', 'a.example'), parse: {files}})
    expect(refused.map(({code, file, line}) => [code, file, line])).toEqual([
      ['BlockNotEditable', '/etc/coredns/custom/x.server', 1],
    ])
    expect(taken.map(({name}) => name)).toEqual(['a.example'])
  })

  test('a name that no block answers is refused', () => {
    const corefile = bytes('example.org {\n    reload\n}\ntls://. {\n}\n. {\n    bind 127.0.0.1\n}\n')
    expect(planEdit({corefile, hosts: exact('a.example.org')}).taken[0]?.blocks.map(({line}) => line)).toEqual([1, 6])
    const other = bytes('.:5353 {\n}\nexample.org {\n    reload\n}\n')
    expect(planEdit({corefile: other, hosts: exact('a.b'), dnsPort: '53'}).refused[0]?.code).toBe('NoServerBlock')
  })
})

describe('the wanted set is whole', () => {
  const full = edited(good, {hosts: exact('a.example', 'b.example', 'c.example')})

  test('what is not in it goes', () => {
    expect(edited(full, {hosts: exact('b.example')})).toBe(edited(good, {hosts: exact('b.example')}))
  })

  test('an edit removes and inserts single lines', () => {
    const {edits} = planEdit({corefile: bytes(full), hosts: exact('a.example', 'c.example')})
    expect(edits.map(({removed, inserted}) => [removed, inserted])).toEqual([
      [`    rewrite name exact b.example ${target}.\n`, ''],
    ])
  })

  test('an empty set needs allowEmpty, unless there is nothing of ours', () => {
    const empty = {hosts: [], targets: [target]}
    expect(planEdit({corefile: bytes(full), ...empty}).refusal?.code).toBe('EmptySet')
    expect(planEdit({corefile: good, ...empty}).refusal).toBeUndefined()
    expect(edited(full, {...empty, allowEmpty: true})).toBe(text(good))
  })

  test('when every wanted host is refused nothing is written', () => {
    const {files, refused} = planEdit({corefile: bytes(full), hosts: exact('a.cluster.local')})
    expect([files.length, refused.length]).toEqual([0, 1])
  })

  test('with another target all lines change to it', () => {
    const other = 'p.q.svc.cluster.local'
    const after = edited(full, {hosts: [one('a.example', {target: other})]})
    expect(after).toBe(edited(good, {hosts: [one('a.example', {target: other})]}))
    expect(text(planRemoval({corefile: bytes(full)}).files[0]?.after as Uint8Array)).toBe(text(good))
  })

  test('the hash is that of the file behind the edit', () => {
    const {hash, files} = plan(exact('a.example'))
    expect(hash.value).toBe(reloadHash(files[0]?.after as Uint8Array).value)
    expect(plan([]).hash.value).toBe(reloadHash(good).value)
  })
})

describe('where lines go', () => {
  test.each([
    ['. { # {\n}\n', '. { # {\n@}\n'],
    ['. {\n}\n', '. {\n@}\n'],
    ['  . {\n  }\n', '  . {\n@  }\n'],
    ['. {\n\n  # note\n\n   errors\n}\n', '. {\n@\n  # note\n\n   errors\n}\n'],
    ['. { errors\n  reload\n}\n', '. { errors\n@  reload\n}\n'],
    ['. { log . {\n   class error\n  }\n  reload\n}\n', '. { log . {\n   class error\n  }\n@  reload\n}\n'],
    ['a {\n  log\n} . {\n  reload\n}\n', 'a {\n  log\n} . {\n@  reload\n}\n'],
    ['(s) {\n  log\n}\n. {\n   import s\n}\n', '(s) {\n  log\n}\n. {\n@   import s\n}\n'],
  ])('%j', (file, expected) => {
    const after = edited(file, {hosts: exact('x.example')})
    const [before = '', behind = ''] = expected.split('@')
    expect(after.startsWith(before)).toBe(true)
    expect(after.endsWith(behind)).toBe(true)
    const lines = after.slice(before.length, after.length - behind.length).split('\n')
    expect(lines.map((line) => line.trim())).toEqual([begin, `rewrite name exact x.example ${target}.`, end, ''])
    const indents = new Set(lines.slice(0, 3).map((line) => line.length - line.trimStart().length))
    expect(indents.size).toBe(1)
  })

  test('every block that can answer gets the rule: views and bound listeners', () => {
    const file =
      'example.org {\n    view v {\n        expr true\n    }\n}\n.:53 {\n    bind 127.0.0.1\n}\n.:53 {\n    bind 127.0.0.2\n}\n'
    const {taken} = planEdit({corefile: bytes(file), hosts: exact('a.example.org')})
    expect(taken[0]?.blocks.map(({line}) => line)).toEqual([1, 6, 9])
  })
})

describe('import keys', () => {
  const key = '/etc/coredns/custom/srcip.override'
  const corefile = bytes('.:53 {\n    errors\n    import custom/*.override\n    reload\n}\n')
  const request = {corefile, importKeys: [key], hosts: exact('b.example', 'a.example')}
  const content = `${begin}\nrewrite name exact a.example ${target}.\nrewrite name exact b.example ${target}.\n${end}\n`

  test('the rules go into the key and the Corefile stays', () => {
    const {files, taken, hash, edits} = planEdit(request)
    expect(files.map(({file, before, after}) => [file, before, text(after as Uint8Array)])).toEqual([
      [key, undefined, content],
    ])
    expect(taken.map(({blocks}) => blocks)).toEqual([1, 2].map(() => [{keys: ['.:53'], line: 1, place: key}]))
    expect(edits).toEqual([{file: key, offset: 0, removed: '', inserted: content}])
    expect(hash.value).toBe(reloadHash(corefile, {files: new Map([[key, bytes(content)]])}).value)
  })

  test('the same again changes nothing, removal takes the key away', () => {
    const parse = {files: new Map([[key, bytes(content)]])}
    expect(planEdit({...request, parse}).files).toEqual([])
    const [change] = planRemoval({corefile, importKeys: [key], parse}).files
    expect([change?.file, change?.after]).toEqual([key, null])
  })

  test('lines of others in the key are kept', () => {
    const parse = {files: new Map([[key, bytes(`${content}rewrite name x.example y.example\n`)]])}
    expect(planEdit({...request, parse}).files).toEqual([])
    const [change] = planRemoval({corefile, importKeys: [key], parse, targets: [target]}).files
    expect(text(change?.after as Uint8Array)).toBe('rewrite name x.example y.example\n')
  })

  test('a key imported by its plain name is emptied, not taken away', () => {
    const plain = bytes(text(corefile).replace('*.override', 'srcip.override'))
    const parse = {files: new Map([[key, bytes(content)]])}
    const [change] = planRemoval({corefile: plain, importKeys: [key], parse}).files
    expect(change?.after).toEqual(new Uint8Array())
  })

  test('lines of ours move out of the Corefile into the key', () => {
    const before = edited(corefile, {hosts: exact('a.example', 'b.example')})
    const {files} = planEdit({...request, corefile: bytes(before)})
    expect(files.map(({file}) => file)).toEqual(['', key])
    expect(text(files[0]?.after as Uint8Array)).toBe(text(corefile))
  })

  test('a key that is read between blocks would become zones: refused', () => {
    const wrong = bytes('.:53 {\n    import custom/*.override\n    reload\n}\nimport custom/srcip.*\n')
    expect(planEdit({...request, corefile: wrong}).refusal?.code).toBe('WouldChangeOthers')
  })

  test('an unread import before ours may hide a rule', () => {
    const both = bytes('.:53 {\n    import other/*.x\n    import custom/*.override\n    reload\n}\n')
    const options = {
      parse: {imports: 'unknown', directories: new Set(['/etc/coredns/custom'])},
      unknownImports: 'warn',
    } as const
    expect(planEdit({...request, corefile: both, ...options}).refused.map(({code}) => code)).toEqual(
      Array(2).fill('UnknownImportFirst'),
    )
    expect(planEdit({...request, corefile: both, ...options, unknownImports: 'refuse'}).refusal?.code).toBe(
      'UnreadableImport',
    )
  })

  test('blocks without the import get their rules in the Corefile', () => {
    const two = bytes(`${text(corefile)}b.example {\n    forward . 192.0.2.1\n}\n`)
    const {taken} = planEdit({...request, corefile: two})
    expect(taken.map(({name, blocks}) => [name, blocks.map(({place}) => place)])).toEqual([
      ['b.example', ['']],
      ['a.example', [key]],
    ])
  })
})

describe('unknown surroundings', () => {
  const env = {known: new Map<string, string>(), others: 'unknown'} as const

  test('a variable in a key, a name or an import forbids the edit, in an argument it is noted', () => {
    const hosts = exact('a.example')
    for (const file of ['.:{$P} {\n}\n', '. {\n {$D}\n}\n', '. {\n import {$F}\n}\n']) {
      const parse = {env, imports: 'unknown', directives: false} as const
      const {refusal} = planEdit({corefile: bytes(file), hosts, parse, unknownImports: 'warn'})
      expect(['UnknownEnvironment', 'DoesNotParse']).toContain(refusal?.code)
    }
    const noted = planEdit({corefile: bytes('. {\n reload\n log {$A}\n}\n'), hosts, parse: {env}})
    expect(noted.notes.map(({code, at}) => [code, at?.line])).toEqual([['UnknownEnvironment', 3]])
    expect(noted.hash.value).toBeNull()
  })

  test('an unread import is refused, or only noted where that is asked for', () => {
    const corefile = caseFiles('B07').get('') as Uint8Array
    const k3s = bytes(`${text(corefile)}import custom/*.server\n`)
    const parse = {imports: 'unknown'} as const
    expect(planEdit({corefile: k3s, hosts: exact('a.example'), parse}).refusal?.code).toBe('UnreadableImport')
    const warned = planEdit({corefile: k3s, hosts: exact('a.example'), parse, unknownImports: 'warn'})
    expect(warned.notes.map(({code}) => code)).toEqual(['UnreadableImport'])
    expect(warned.hash.unknown).toMatchObject([{kind: 'import', name: 'custom/*.server'}])
  })
})

describe('other owners', () => {
  const theirs = [
    '    # === BEGIN ouroboros (do not edit by hand) === since 0.8',
    '    rewrite name a.example ouroboros-proxy.cozy-ouroboros.svc.cluster.local.',
    '    # === END ouroboros ===',
  ]
  const file = text(good).replace('{\n', `{\n${theirs.join('\n')}\n`)
  const hairpin = '    rewrite name a.example hairpin-proxy.hairpin-proxy.svc.cluster.local # Added by hairpin-proxy\n'

  test('their section is noted and left alone', () => {
    const {notes} = planEdit({corefile: bytes(file), hosts: exact('b.example')})
    expect(notes.map(({code}) => code)).toEqual(['OtherOwner', 'OtherOwner'])
    expect(edited(file, {hosts: exact('b.example')})).toContain(`${theirs.join('\n')}\n`)
  })

  test('adopt takes it over in the same write', () => {
    expect(edited(file, {hosts: exact('a.example'), adopt: ['ouroboros']})).toBe(
      edited(good, {hosts: exact('a.example')}),
    )
    const proxied = text(good).replace('    errors\n', `${hairpin}    errors\n`)
    expect(edited(proxied, {hosts: exact('a.example'), adopt: ['hairpin-proxy']})).toBe(
      edited(good, {hosts: exact('a.example')}),
    )
    expect(edited(proxied, {hosts: exact('b.example')})).toContain(hairpin)
  })

  test('as owner ouroboros its markers are written and read', () => {
    const after = edited(file, {hosts: exact('a.example'), owner: 'ouroboros'})
    expect(after).toContain('{\n    # === BEGIN ouroboros (do not edit by hand) ===\n    rewrite name exact a.example')
    expect(after.match(/ouroboros/g)).toHaveLength(2)
  })
})

test('a spared name is a host name below a wanted wildcard, or is left out', () => {
  const wild = one('*.example.org', {kind: 'wildcard-one-label'})
  const spared = ['Static.example.org.', 'elsewhere.example', 'a\n}.example.org', 'a b.example.org']
  const after = edited(good, {hosts: [wild], wildcards: true, spared})
  expect(after.match(/rewrite name exact .*/g)).toEqual(['rewrite name exact static.example.org static.example.org.'])
})

test('fault 13: a file near 1 MiB is refused before and after', () => {
  const huge = bytes(`${text(good)}${'# filler\n'.repeat(117_000)}`)
  expect(planEdit({corefile: huge, hosts: exact('a.example')}).refusal?.code).toBe('TooLarge')
  const nearly = bytes(`${text(good)}${'#'.repeat(1_048_576 - good.length - 100)}\n`)
  expect(planEdit({corefile: nearly, hosts: exact('a.example')}).refusal?.code).toBe('TooLarge')
})
