import {spawn} from 'node:child_process'
import {createHash} from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {afterAll, describe, expect, test} from 'vitest'
import {srcip} from '../support/srcip.ts'

const cases = fileURLToPath(new URL('../cases/', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'srcip-coredns-'))
afterAll(() => rmSync(folder, {recursive: true, force: true}))

const begin = '# === BEGIN srcip (managed by kubectl srcip, do not edit) ==='
const end = '# === END srcip ==='
const fqdn = 'srcip-proxy.srcip.svc.cluster.local.'
const rule = (host: string) => `rewrite name exact ${host} ${fqdn}`

const caseFile = (name: string) => join(cases, name)
const sha = (text: string | Buffer) => createHash('sha256').update(text).digest('hex')
const variants = (name: string) => readdirSync(join(cases, name)).filter((file) => file.startsWith('Corefile'))
const count = (text: string, part: string) => text.split(part).length - 1

let files = 0
function write(text: string | Buffer): string {
  const path = join(folder, `Corefile-${files++}`)
  writeFileSync(path, text)
  return path
}

const apply = (path: string, ...more: string[]) => srcip(['coredns', 'apply', '-f', path, ...more])
const clean = (path: string, ...more: string[]) => srcip(['coredns', 'clean', '-f', path, ...more])
const plan = (path: string, ...more: string[]) => srcip(['coredns', 'plan', '-f', path, ...more])

test('a name that --exclude takes out is named with the reason', async () => {
  const path = caseFile('B01-root-zone-spellings/Corefile.g-other-port-first')
  const hosts = ['--host', 'app.example.org', '--host', 'old.example.org', '--exclude', 'old.example.org']
  const {stdout, stderr} = await plan(path, ...hosts, '-o', 'json')
  const document = JSON.parse(stdout) as {hosts: {name: string}[]; warnings: string[]}
  expect(document.hosts.map(({name}) => name)).toEqual(['app.example.org'])
  expect(document.warnings).toContain('old.example.org (flag) is left out: excluded by --exclude old.example.org')
  expect((await plan(path, ...hosts)).stderr + stderr).toContain('old.example.org (flag) is left out')
})

describe('the root zone in every spelling (B01)', () => {
  test.each(variants('B01-root-zone-spellings').filter((file) => !file.includes('h-no-braces')))('%s', async (file) => {
    const path = caseFile(`B01-root-zone-spellings/${file}`)
    const before = readFileSync(path, 'utf8')
    const {exitCode, stdout} = await apply(path, '--host', 'app.example.org')
    expect(exitCode).toBe(0)
    expect([count(stdout, begin), count(stdout, end), count(stdout, rule('app.example.org'))]).toEqual([1, 1, 1])
    const foreign = stdout.split('\n').filter((line) => ![begin, end, rule('app.example.org')].includes(line.trim()))
    expect(foreign.join('\n')).toBe(before)
    const back = await clean(write(stdout))
    expect({exitCode: back.exitCode, sha: sha(back.stdout)}).toEqual({exitCode: 0, sha: sha(before)})
  })

  test('the blocks of other ports stay empty of ours', async () => {
    const {stdout} = await apply(
      caseFile('B01-root-zone-spellings/Corefile.g-other-port-first'),
      '--host',
      'app.example.org',
    )
    expect(stdout.indexOf(begin)).toBeGreaterThan(stdout.indexOf('\n.:53 {'))
  })

  test('a file without braces is refused or extended at its end, never given a second block', async () => {
    const path = caseFile('B01-root-zone-spellings/Corefile.h-no-braces')
    const {exitCode, stdout, stderr} = await apply(path, '--host', 'app.example.org')
    if (exitCode === 0) expect(stdout.startsWith(readFileSync(path, 'utf8'))).toBe(true)
    else expect({exitCode, stdout, line: /line 1\b/.test(stderr)}).toEqual({exitCode: 32, stdout: '', line: true})
    expect(stdout).not.toMatch(/\.:53 \{/)
  })
})

describe('headers that CoreDNS misreads (B03)', () => {
  test.each([
    ['Corefile.a-glued-brace', /line 1: CoreDNS reads the zone as "\.:53\{".*put a space before the brace/],
    ['Corefile.b-rke2-partial-servers', /line 1: CoreDNS reads the zone as "\.\{".*put a space before the brace/],
    ['Corefile.c-one-line', /line 1: a closing brace must stand on its own line/],
    ['Corefile.d-brace-shares-line', /line 3: a closing brace must stand on its own line/],
    ['Corefile.e-port-only-key', /line 1: CoreDNS reads the zone as ":53"/],
  ])('%s is refused in one line', async (file, message) => {
    const path = caseFile(`B03-header-coredns-itself-misreads/${file}`)
    for (const {exitCode, stdout, stderr} of [
      await apply(path, '--host', 'app.example.org'),
      await plan(path, '--host', 'app.example.org'),
    ]) {
      expect({exitCode, stdout}).toEqual({exitCode: 32, stdout: ''})
      expect(stderr.split('\n').filter((line) => line.startsWith('refused: '))).toEqual([
        expect.stringMatching(message),
      ])
    }
  })
})

describe('bytes that are not ours (B05)', () => {
  test.each(variants('B05-bytes-crlf-tabs-eof'))('%s: apply, apply again, clean', async (file) => {
    const path = write(readFileSync(caseFile(`B05-bytes-crlf-tabs-eof/${file}`)))
    const before = readFileSync(path)
    expect((await apply(path, '--host', 'app.example.org', '--in-place')).exitCode).toBe(0)
    const once = readFileSync(path)
    expect(sha(once)).not.toBe(sha(before))
    expect((await apply(path, '--host', 'app.example.org', '--in-place')).exitCode).toBe(0)
    expect(sha(readFileSync(path))).toBe(sha(once))
    expect((await clean(path, '--in-place')).exitCode).toBe(0)
    expect(sha(readFileSync(path))).toBe(sha(before))
  })

  test('stdout is the file byte for byte', async () => {
    const crlf = await apply(caseFile('B05-bytes-crlf-tabs-eof/Corefile.a-crlf'), '--host', 'app.example.org')
    expect(
      crlf.stdout
        .split('\n')
        .slice(0, -1)
        .every((line) => line.endsWith('\r')),
    ).toBe(true)
    const open = await apply(
      caseFile('B05-bytes-crlf-tabs-eof/Corefile.c-no-newline-at-eof'),
      '--host',
      'app.example.org',
    )
    expect(open.stdout.endsWith('}')).toBe(true)
    const tabs = await apply(caseFile('B05-bytes-crlf-tabs-eof/Corefile.b-tabs'), '--host', 'app.example.org')
    expect(tabs.stdout).toContain(`\n\t${rule('app.example.org')}\n`)
    const bom = await apply(caseFile('B05-bytes-crlf-tabs-eof/Corefile.f-bom'), '--host', 'app.example.org')
    expect(bom.stdout.startsWith('\ufeff.:53 {')).toBe(true)
  })
})

test('snippets stay as they are, and count where they are imported (B07)', async () => {
  const path = caseFile('B07-snippets/Corefile')
  const {exitCode, stdout, stderr} = await apply(path, '--host', 'app.example.org')
  expect(exitCode).toBe(0)
  expect(stdout.slice(0, stdout.indexOf('.:53 {'))).toBe(readFileSync(path, 'utf8').split('.:53 {')[0])
  expect(stdout.indexOf(rule('app.example.org'))).toBeGreaterThan(stdout.indexOf('.:53 {'))
  expect(stderr).not.toContain('reload is not loaded')
})

describe('damaged markers (B08)', () => {
  test.each([
    ['Corefile.a-block-twice', [6, 8]],
    ['Corefile.b-end-missing', [2]],
    ['Corefile.c-begin-missing', [3]],
    ['Corefile.d-end-before-begin', [2, 4]],
    ['Corefile.e-spans-two-blocks', [2, 7]],
  ])('%s: apply and clean refuse with the lines, --repair mends', async (file, lines) => {
    const path = caseFile(`B08-damaged-markers/${file}`)
    for (const {exitCode, stdout, stderr} of [await apply(path, '--host', 'app.example.org'), await clean(path)]) {
      expect({exitCode, stdout}).toEqual({exitCode: 32, stdout: ''})
      expect(stderr).toContain('[MarkersDamaged]')
      for (const line of lines) expect(stderr).toContain(`line ${line}`)
    }
    const repaired = await apply(path, '--host', 'app.example.org', '--repair')
    expect(repaired.exitCode).toBe(0)
    expect([
      count(repaired.stdout, begin),
      count(repaired.stdout, end),
      count(repaired.stdout, rule('app.example.org')),
    ]).toEqual([1, 1, 1])
    const diff = await apply(path, '--host', 'app.example.org', '--repair', '-o', 'diff')
    expect(diff.stdout).toMatch(/^[+-] .*=== (?:BEGIN|END) srcip/m)
    const cleaned = await clean(path, '--repair')
    expect(cleaned.exitCode).toBe(0)
    expect(cleaned.stdout).not.toContain('srcip')
  })

  test('a repair shows its diff on stderr, and goes into a file only when somebody says so', async () => {
    const text = readFileSync(caseFile('B08-damaged-markers/Corefile.a-block-twice'), 'utf8')
    const path = write(text)
    const changed = /^-.*rewrite name api\.example\.org/m
    const shown = await apply(path, '--host', 'app.example.org', '--repair')
    expect({exitCode: shown.exitCode, diff: changed.test(shown.stderr)}).toEqual({exitCode: 0, diff: true})
    const asked = await apply(path, '--host', 'app.example.org', '--repair', '--in-place')
    expect({exitCode: asked.exitCode, stdout: asked.stdout}).toEqual({exitCode: 2, stdout: ''})
    expect(asked.stderr).toMatch(changed)
    expect(asked.stderr).toContain(`cannot ask for confirmation here: write this to ${path}?`)
    expect(readFileSync(path, 'utf8')).toBe(text)
    const done = await apply(path, '--host', 'app.example.org', '--repair', '--in-place', '--yes')
    expect(done.exitCode, done.stderr).toBe(0)
    expect(readFileSync(path, 'utf8')).toBe(shown.stdout)
    // nothing left to repair is nothing to ask about
    expect((await apply(path, '--host', 'app.example.org', '--repair', '--in-place')).exitCode).toBe(0)
  })

  test("an operator's line between ours is kept and reported", async () => {
    const {exitCode, stdout, stderr} = await apply(
      caseFile('B08-damaged-markers/Corefile.f-operator-line-inside'),
      '--host',
      'app.example.org',
    )
    expect(exitCode).toBe(0)
    expect(stdout.indexOf('intranet.example.net')).toBeGreaterThan(stdout.indexOf(end))
    expect(stderr).toMatch(/somebody else.*line 4/)
  })

  test.each(['Corefile.g-marker-text-in-comment', 'Corefile.h-hand-reindented'])('%s works as usual', async (file) => {
    const {exitCode, stdout} = await apply(caseFile(`B08-damaged-markers/${file}`), '--host', 'app.example.org')
    expect(exitCode).toBe(0)
    expect(stdout.split('\n').filter((line) => line.trim() === begin)).toHaveLength(1)
  })
})

test('each host goes into the block that answers it, or is refused by that block (B10)', async () => {
  const {exitCode, stdout, stderr} = await apply(
    caseFile('B10-host-answered-by-a-more-specific-block/Corefile'),
    '--hosts-file',
    caseFile('B10-host-answered-by-a-more-specific-block/hosts.txt'),
  )
  expect(exitCode).toBe(23)
  expect(stdout).not.toContain(rule('app.example.org'))
  expect(stdout.slice(stdout.indexOf('apps.example.net:53'))).toContain(rule('web.apps.example.net'))
  expect(stdout.slice(0, stdout.indexOf('example.org:53'))).toContain(rule('shop.example.com'))
  expect(stderr).toMatch(/refused: app\.example\.org.*"example\.org:53".*192\.0\.2\.53.*\[BlockCannotResolveTarget\]/)
})

describe("an operator's rule comes first (B11)", () => {
  const path = caseFile('B11-earlier-rewrite-shadows-ours/Corefile')
  const hosts = ['--hosts-file', caseFile('B11-earlier-rewrite-shadows-ours/hosts.txt')]

  test('both hosts are refused with the line, the third stands', async () => {
    const {exitCode, stdout, stderr} = await apply(path, ...hosts)
    expect(exitCode).toBe(23)
    expect(stderr).toMatch(/refused: app\.example\.org: line 3: rewrite stop/)
    expect(stderr).toMatch(/refused: www\.example\.net: line 7: rewrite continue/)
    expect([count(stdout, 'rewrite name exact'), count(stdout, rule('shop.example.com'))]).toEqual([1, 1])
  })

  test('--before stands in front and names what it overrides', async () => {
    const {exitCode, stdout, stderr} = await apply(path, ...hosts, '--before')
    expect(exitCode).toBe(0)
    expect(stdout.split('\n')[1]?.trim()).toBe(begin)
    expect(stderr).toMatch(/app\.example\.org.*line 3/)
    expect(stderr).toMatch(/www\.example\.net.*line 7/)
  })
})

test.each([
  ['Corefile.a-syntax-error', /line \d+/],
  ['Corefile.b-setup-error', /rewrite/],
  ['Corefile.c-unknown-plugin', /line 16: .*read/],
])('a file that CoreDNS refuses already is not edited: %s (B14)', async (file, message) => {
  const {exitCode, stdout, stderr} = await apply(
    caseFile(`B14-write-accepted-reload-refused/${file}`),
    '--host',
    'app.example.org',
  )
  expect({exitCode, stdout}).toEqual({exitCode: 32, stdout: ''})
  expect(stderr).toMatch(message)
})

test.each([
  ['Corefile.a-absent', true],
  ['Corefile.b-only-as-a-property', true],
  ['Corefile.c-commented', true],
  ['Corefile.d-in-another-block', false],
])('reload in %s: warned %s (B15)', async (file, warned) => {
  const {exitCode, stderr} = await apply(caseFile(`B15-no-reload-plugin/${file}`), '--host', 'app.example.org')
  expect(exitCode).toBe(0)
  expect(stderr.includes('reload is not loaded')).toBe(warned)
  expect(stderr.includes('kubectl -n kube-system rollout restart deployment/coredns')).toBe(warned)
})

describe('markers that a kubeadm upgrade took away (B16)', () => {
  const path = caseFile('B16-kubeadm-upgrade-strips-markers/Corefile.after')

  test('apply takes the unmarked lines over', async () => {
    const {exitCode, stdout, stderr} = await apply(
      path,
      '--hosts-file',
      caseFile('B16-kubeadm-upgrade-strips-markers/hosts.txt'),
    )
    expect(exitCode).toBe(0)
    expect(
      stdout
        .split('\n')
        .filter((line) => line.includes('rewrite'))
        .map((line) => line.trim()),
    ).toEqual([rule('app.example.org'), rule('shop.example.org')])
    expect([count(stdout, begin), count(stdout, end)]).toEqual([1, 1])
    expect(stderr).toMatch(/without markers/)
  })

  test('clean removes them, and no rule with another target', async () => {
    const foreign = '    rewrite name intranet.example.net intranet.corp.svc.cluster.local.\n'
    const {exitCode, stdout} = await clean(
      write(readFileSync(path, 'utf8').replace('    errors\n', `${foreign}    errors\n`)),
    )
    expect(exitCode).toBe(0)
    expect(stdout).not.toContain(fqdn)
    expect(stdout).toContain(foreign)
  })
})

describe('wildcards (B26)', () => {
  const corefile = caseFile('B14-write-accepted-reload-refused/Corefile.good')
  const hosts = ['--host', 'api.example.org,example.org', '--host', '*.example.org']

  test('are a warning, exit 0', async () => {
    const {exitCode, stdout, stderr} = await apply(corefile, ...hosts)
    expect(exitCode).toBe(0)
    expect(count(stdout, 'rewrite')).toBe(2)
    expect(stderr).toContain('warning: *.example.org is not covered')
  })

  test('--wildcards: one anchored rule behind the exact ones, an excluded name keeps its answer', async () => {
    const {stdout} = await apply(corefile, ...hosts, '--wildcards', '--exclude', 'static.example.org')
    expect(
      stdout
        .split('\n')
        .filter((line) => line.includes('rewrite'))
        .map((line) => line.trim()),
    ).toEqual([
      rule('api.example.org'),
      rule('example.org'),
      'rewrite name exact static.example.org static.example.org.',
      `rewrite name regex ^[^._][^.]*\\.example\\.org\\.$ ${fqdn} answer auto`,
    ])
  })

  test('CoreDNS before 1.8.4 cannot take one', async () => {
    const {exitCode, stderr} = await apply(corefile, ...hosts, '--wildcards', '--coredns-version', '1.8.0')
    expect(exitCode).toBe(23)
    expect(stderr).toContain('[WildcardUnsupported]')
  })
})

test('the cluster domain comes from the kubernetes line; hosts inside it are refused one by one (B28)', async () => {
  const {exitCode, stdout, stderr} = await apply(
    caseFile('B28-hosts-inside-cluster-zones/Corefile'),
    '--hosts-file',
    caseFile('B28-hosts-inside-cluster-zones/hosts.txt'),
  )
  expect(exitCode).toBe(23)
  expect(stdout).toContain('rewrite name exact app.example.org srcip-proxy.srcip.svc.kube.example.net.\n')
  expect(count(stdout, 'rewrite')).toBe(1)
  expect(count(stderr, 'refused: ')).toBe(5)
})

describe('how -f behaves', () => {
  const good = caseFile('B14-write-accepted-reload-refused/Corefile.good')

  test.each([['plan'], ['apply']])('%s without a name is a usage error: a file has no Ingresses', async (command) => {
    const {exitCode, stdout, stderr} = await srcip(['coredns', command, '-f', good])
    expect({exitCode, stdout}).toEqual({exitCode: 2, stdout: ''})
    expect(stderr).toContain('--host NAME')
  })

  test('- is stdin', async () => {
    const {exitCode, stdout} = await srcip(['coredns', 'apply', '-f', '-', '--host', 'app.example.org'], {
      input: readFileSync(good),
    })
    expect(exitCode).toBe(0)
    expect(stdout).toBe((await apply(good, '--host', 'app.example.org')).stdout)
  })

  test('a target by its full name is taken, and said to be unchecked', async () => {
    const {exitCode, stdout, stderr} = await apply(
      good,
      '--host',
      'app.example.org',
      '--target',
      'edge.net.svc.cluster.local',
    )
    expect(exitCode).toBe(0)
    expect(stdout).toContain('rewrite name exact app.example.org edge.net.svc.cluster.local.\n')
    expect(stderr).toContain('warning: target not checked')
  })

  test('a document instead of the file where one is asked for', async () => {
    const {stdout} = await apply(good, '--host', 'app.example.org', '-o', 'json')
    expect(JSON.parse(stdout)).toMatchObject({
      apiVersion: 'srcip.dev/v1alpha1',
      kind: 'CorednsPlan',
      sources: [{file: good, key: 'Corefile'}],
      hosts: [{name: 'app.example.org', form: 'exact', block: {keys: ['.:53'], line: 1}}],
      edits: [{source: good, key: 'Corefile', offset: 7, removed: ''}],
      hash: {sha512: expect.stringMatching(/^[0-9a-f]{128}$/), unknown: []},
      exitCode: 0,
      changed: true,
    })
    expect((await plan(good, '--host', 'app.example.org', '-o', 'name')).stdout).toBe('app.example.org\n')
    expect((await plan(good, '--host', 'app.example.org', '-o', 'diff')).stdout).toContain(
      `\n+    ${rule('app.example.org')}\n`,
    )
  })

  test('a release that nobody named is called assumed, in tables and in documents', async () => {
    const shown = async (...more: string[]): Promise<string> =>
      (await srcip(['coredns', 'show', '-f', good, ...more])).stdout
    expect(await shown()).toContain('CoreDNS 1.14.7 (assumed), cluster domain')
    expect(await shown('--coredns-version', '1.11.3')).toContain('CoreDNS 1.11.3, cluster domain')
    expect(JSON.parse(await shown('-o', 'json'))).toMatchObject({coredns: {version: '1.14.7', versionAssumed: true}})
    const planned = await plan(good, '--host', 'app.example.org', '-o', 'json')
    expect(JSON.parse(planned.stdout)).toMatchObject({coredns: {version: '1.14.7', versionAssumed: true}})
    const linted = await srcip(['coredns', 'lint', '-f', good, '-o', 'json', '--coredns-version', '1.14.7'])
    expect((JSON.parse(linted.stdout) as {coredns: unknown}).coredns).toEqual({version: '1.14.7'})
  })

  test('a refused plan is a document too, with its exit code', async () => {
    const {exitCode, stdout} = await plan(
      caseFile('B03-header-coredns-itself-misreads/Corefile.c-one-line'),
      '--host',
      'a.example.org',
      '-o',
      'json',
    )
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'CorednsPlan',
      exitCode: 32,
      changed: false,
      refused: [{name: '*', code: 'DoesNotParse', line: 1}],
    })
    expect(exitCode).toBe(32)
  })

  test('--detailed-exitcode tells a change', async () => {
    expect((await plan(good, '--host', 'app.example.org', '--detailed-exitcode')).exitCode).toBe(20)
    const done = write((await apply(good, '--host', 'app.example.org')).stdout)
    expect((await plan(done, '--host', 'app.example.org', '--detailed-exitcode')).exitCode).toBe(0)
    expect((await apply(done, '--host', 'app.example.org', '--detailed-exitcode')).exitCode).toBe(0)
    expect((await clean(done, '--detailed-exitcode')).exitCode).toBe(20)
  })

  test('a block of which nothing is known is not called missing, and a snippet below its use is found', async () => {
    const path = write('.:53 {\n    import own\n}\n(own) {\n    forward . 192.0.2.53\n    reload\n}\n')
    const {exitCode, stdout, stderr} = await apply(path, '--host', 'app.example.org')
    expect({exitCode, stdout}).toEqual({exitCode: 32, stdout: ''})
    expect(stderr).toMatch(/line 2: no server block is known to answer app\.example\.org: what "import own" brings in/)
    const linted = await srcip(['coredns', 'lint', '-f', path])
    expect(linted.exitCode).toBe(22)
    expect(linted.stdout).toMatch(/CF032 +snippet \(own\) is defined on line 4, below its use/)
  })

  test('a file with a million traps, or 20,000 imports, is told in few lines', async () => {
    const bad = await srcip(['coredns', 'lint', '-f', write(Buffer.alloc(300_000, 0xff)), '-o', 'json'])
    expect(bad.exitCode).toBe(22)
    const {findings, warnings} = JSON.parse(bad.stdout) as {findings: unknown[]; warnings: string[]}
    expect(findings.length).toBeLessThan(1000)
    expect(warnings).toContain('CF001: 299900 more findings are not listed')
    const imports = `.:53 {\n${'    import custom/*.override\n'.repeat(20_000)}    forward . 192.0.2.53\n    reload\n}\n`
    const planned = await plan(write(imports), '--host', 'app.example.org')
    expect(planned.stderr.split('\n').length).toBeLessThan(50)
    expect(planned.stderr).toContain('warning: 19980 more of the same kind (UnreadableImport)')
  })

  test('bad names are refused one by one and never block the others', async () => {
    const {exitCode, stdout, stderr} = await apply(
      good,
      '--host',
      'app.example.org',
      '--host',
      'two..dots',
      '--host',
      '192.0.2.1',
      '--host',
      'a#b',
    )
    expect(exitCode).toBe(23)
    expect(count(stdout, 'rewrite')).toBe(1)
    expect(count(stderr, '[InvalidName]')).toBe(3)
  })

  test('a name with umlauts is written in its A-label form', async () => {
    const {stdout} = await apply(good, '--host', 'Bücher.Example.org.')
    expect(stdout).toContain(rule('xn--bcher-kva.example.org'))
  })

  test.each([
    ['--coredns-version', 'newest'],
    ['--cluster-domain', 'not a zone'],
    ['--owner', 'nobody'],
    ['--hosts-file', '/nonexistent'],
  ])('%s %s is a usage error', async (flag, value) => {
    const {exitCode, stdout} = await apply(good, '--host', 'app.example.org', flag, value)
    expect({exitCode, stdout}).toEqual({exitCode: 2, stdout: ''})
  })

  test('other owner markers are used with --owner ouroboros', async () => {
    const {stdout} = await apply(good, '--host', 'app.example.org', '--owner', 'ouroboros')
    expect(stdout).toContain('# === BEGIN ouroboros (do not edit by hand) ===')
  })
})

describe('--in-place', () => {
  const text = readFileSync(caseFile('B14-write-accepted-reload-refused/Corefile.good'))

  test('follows a symlink, keeps the mode, leaves nothing beside the file, prints nothing', async () => {
    const place = mkdtempSync(join(folder, 'place-'))
    const target = join(place, 'real')
    writeFileSync(target, text)
    chmodSync(target, 0o640)
    symlinkSync('real', join(place, 'link'))
    const {exitCode, stdout} = await apply(join(place, 'link'), '--host', 'app.example.org', '--in-place')
    expect({exitCode, stdout}).toEqual({exitCode: 0, stdout: ''})
    expect(readFileSync(target, 'utf8')).toContain(rule('app.example.org'))
    expect((statSync(target).mode & 0o777).toString(8)).toBe('640')
    expect(lstatSync(join(place, 'link')).isSymbolicLink()).toBe(true)
    expect(readdirSync(place).toSorted()).toEqual(['link', 'real'])
  })

  test('writes nothing when everything is refused, under --dry-run, or when nothing changes', async () => {
    const broken = write('.:53{\n}\n')
    expect((await apply(broken, '--host', 'a.example.org', '--in-place')).exitCode).toBe(32)
    expect(readFileSync(broken, 'utf8')).toBe('.:53{\n}\n')
    const good = write(text)
    const {ino, mtimeMs} = statSync(good)
    await apply(good, '--host', 'a.example.org', '--in-place', '--dry-run', 'client')
    await clean(good, '--in-place')
    expect(statSync(good)).toMatchObject({ino, mtimeMs})
  })

  test('needs a file', async () => {
    expect((await srcip(['coredns', 'clean', '--in-place'])).exitCode).toBe(2)
  })

  test('a kill -9 at any moment leaves the old file or the new one', async () => {
    const entry = fileURLToPath(new URL('../../bin/run.js', import.meta.url))
    const path = write(text)
    const hosts = join(folder, 'many-hosts')
    writeFileSync(hosts, Array.from({length: 3000}, (_, index) => `host-${index}.example.org`).join('\n'))
    const whole = sha((await apply(path, '--hosts-file', hosts)).stdout)
    const seen = new Set<string>()
    const started = performance.now()
    await apply(write(text), '--hosts-file', hosts, '--in-place')
    const duration = performance.now() - started
    for (let step = 0; step < 12; step++) {
      writeFileSync(path, text)
      const child = spawn(
        process.execPath,
        [entry, 'coredns', 'apply', '-f', path, '--hosts-file', hosts, '--in-place'],
        {stdio: 'ignore', env: {PATH: process.env['PATH'] ?? '', HOME: folder}},
      )
      const exited = new Promise((resolve) => child.once('exit', resolve))
      // denser towards the end, where the write is
      setTimeout(() => child.kill('SIGKILL'), duration * (0.6 + step * 0.05))
      await exited
      seen.add(sha(readFileSync(path)))
    }
    for (const found of seen) expect([sha(text), whole]).toContain(found)
  })
})

describe('bad input', () => {
  const binary = Buffer.from(Array.from({length: 4096}, (_, index) => (index * 197 + 13) % 256))
  test.each([
    ['an empty file', Buffer.alloc(0), 32],
    ['only comments', Buffer.from('# nothing here\n'), 32],
    ['a binary file', binary, 32],
    ['a megabyte of one word', Buffer.alloc(1 << 20, 'a'), 32],
    ['a megabyte of open braces', Buffer.from('{\n'.repeat(1 << 19)), 32],
    ['five megabytes', Buffer.alloc(5 << 20, 'a\n'), 32],
    ['UTF-16', Buffer.from('.:53 {\n}\n', 'utf16le'), 32],
    ['a NUL byte', Buffer.from('.:53 {\n  errors\u0000\n}\n'), 32],
    ['an open quote', Buffer.from('.:53 {\n  errors "\n}\n'), 32],
    [
      'a Secret in place of a Corefile',
      Buffer.from('apiVersion: v1\nkind: Secret\ndata:\n  password: aHVudGVyMg==\n'),
      32,
    ],
  ])('%s is refused in one line, nothing on stdout', async (_name, bytes, code) => {
    const path = write(bytes)
    for (const {exitCode, stdout, stderr} of [await apply(path, '--host', 'app.example.org'), await clean(path)]) {
      expect({exitCode, stdout}).toEqual({exitCode: code, stdout: ''})
      const said = stderr.split('\n').filter((line) => /^(?:refused|error): /.test(line))
      expect(said).toHaveLength(1)
      expect(said[0]).toContain(path)
      expect(stderr).not.toContain('aHVudGVyMg')
      expect(stderr).not.toContain('bug')
    }
  })

  test.each([
    ['a missing file', '/nonexistent/Corefile', /no such file/],
    ['a directory', '/', /directory/],
  ])('%s is a usage error that names it', async (_name, path, message) => {
    const {exitCode, stdout, stderr} = await apply(path, '--host', 'app.example.org')
    expect({exitCode, stdout}).toEqual({exitCode: 2, stdout: ''})
    expect(stderr).toMatch(message)
    expect(stderr).toContain(path)
  })

  test('an almost full Corefile is edited, one that would not fit is refused', async () => {
    const padding = (size: number) =>
      Buffer.from(
        `.:53 {\n    errors\n    kubernetes cluster.local\n    forward . 192.0.2.1\n    reload\n}\n${'# padding line\n'.repeat(Math.floor(size / 15))}`,
      )
    expect((await apply(write(padding(1_000_000)), '--host', 'app.example.org')).exitCode).toBe(0)
    const {exitCode, stderr} = await apply(write(padding(1_048_500)), '--host', 'app.example.org')
    expect(exitCode).toBe(32)
    expect(stderr).toContain('[TooLarge]')
  })
})

describe('show and query on a file', () => {
  test('show tells blocks, rules and whose they are', async () => {
    const path = write(
      (await apply(caseFile('B11-earlier-rewrite-shadows-ours/Corefile'), '--host', 'shop.example.com')).stdout,
    )
    const {exitCode, stdout} = await srcip(['coredns', 'show', '-f', path, '-o', 'json'])
    expect(exitCode).toBe(0)
    const {blocks, reload} = JSON.parse(stdout) as {
      reload: boolean
      blocks: {keys: string[]; rewrites: {owner: string; line: number}[]}[]
    }
    expect(reload).toBe(true)
    expect(blocks[0]?.rewrites.map((rewrite) => [rewrite.owner, rewrite.line])).toEqual([
      ['srcip', 3],
      ['other', 6],
      ['other', 10],
      ['other', 11],
    ])
  })

  test('query follows a name through the rules', async () => {
    const {exitCode, stdout} = await srcip([
      'coredns',
      'query',
      'app.example.org',
      '-f',
      caseFile('B11-earlier-rewrite-shadows-ours/Corefile'),
      '-o',
      'json',
    ])
    expect(exitCode).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      simulated: {block: {keys: ['.:53']}, seen: 'app.legacy.svc.cluster.local.', answeredBy: {plugin: 'kubernetes'}},
      pods: [],
    })
  })

  test('a broken file is refused with its line', async () => {
    for (const argv of [['show'], ['query', 'a.example.org']]) {
      const {exitCode, stdout, stderr} = await srcip([
        'coredns',
        ...argv,
        '-f',
        caseFile('B14-write-accepted-reload-refused/Corefile.c-unknown-plugin'),
      ])
      expect({exitCode, stdout}).toEqual({exitCode: 32, stdout: ''})
      expect(stderr).toContain(":16 - Error during parsing: Unknown directive 'read'")
    }
  })
})

describe('lint on a file', () => {
  test('a clean file has no findings, a trap has its line, id and remedy, and exit 22', async () => {
    const good = await srcip(['coredns', 'lint', '-f', caseFile('B14-write-accepted-reload-refused/Corefile.good')])
    expect(good).toMatchObject({exitCode: 0, stdout: 'no findings\n'})
    const bad = await srcip([
      'coredns',
      'lint',
      '-f',
      caseFile('B03-header-coredns-itself-misreads/Corefile.d-brace-shares-line'),
      '-o',
      'json',
    ])
    expect(bad.exitCode).toBe(22)
    expect(JSON.parse(bad.stdout)).toMatchObject({
      kind: 'CorednsLint',
      findings: [{id: expect.stringMatching(/^CF\d{3}$/), severity: 'error', line: 3, remedy: expect.any(String)}],
    })
  })

  test.each([
    'B01-root-zone-spellings',
    'B03-header-coredns-itself-misreads',
    'B05-bytes-crlf-tabs-eof',
    'B08-damaged-markers',
    'B15-no-reload-plugin',
  ])('ends with 0 or 22 on every file of %s', async (name) => {
    for (const file of variants(name)) {
      const {exitCode, stderr} = await srcip(['coredns', 'lint', '-f', caseFile(`${name}/${file}`)])
      expect([0, 22], `${file}: ${stderr}`).toContain(exitCode)
    }
  })

  test('a binary file is no crash', async () => {
    const {exitCode} = await srcip([
      'coredns',
      'lint',
      '-f',
      write(Buffer.from(Array.from({length: 2000}, (_, index) => (index * 31) % 256))),
    ])
    expect(exitCode).toBe(22)
  })
})
