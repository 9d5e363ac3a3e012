import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, describe, expect, test} from 'vitest'
import {srcip} from '../support/srcip.ts'

const folder = mkdtempSync(join(tmpdir(), 'srcip-adopt-'))
afterAll(() => rmSync(folder, {recursive: true, force: true}))

const plain = '.:53 {\n    errors\n    kubernetes cluster.local\n    forward . 192.0.2.53\n    reload\n}\n'
const theirTarget = 'ouroboros-proxy.cozy-ouroboros.svc.cluster.local.'
const begin = '# === BEGIN srcip (managed by kubectl srcip, do not edit) ==='

let files = 0
function write(text: string): string {
  const path = join(folder, `Corefile-${files++}`)
  writeFileSync(path, text)
  return path
}

/** As ouroboros writes it: at the end of the block. */
const ofOuroboros = (names: readonly string[], tail = '') =>
  plain.replace(
    /}\n$/,
    [
      `    # === BEGIN ouroboros (do not edit by hand) ===${tail}`,
      ...names.map((name) => `    rewrite name ${name} ${theirTarget}`),
      `    # === END ouroboros ===${tail}`,
      '}',
      '',
    ].join('\n'),
  )

const ofHairpinProxy = (names: readonly string[]) =>
  plain.replace(
    '{\n',
    `{\n${names.map((name) => `    rewrite name ${name} hairpin-proxy.hairpin-proxy.svc.cluster.local # Added by hairpin-proxy\n`).join('')}`,
  )

const adopt = (path: string, ...more: string[]) => srcip(['coredns', 'adopt', '-f', path, ...more])
const namesIn = (text: string) =>
  [...text.matchAll(/rewrite name exact (\S+) (\S+)$/gm)].map((match) => `${match[1]} ${match[2]}`)
const ours = (name: string) => `${name} srcip-proxy.srcip.svc.cluster.local.`

describe('coredns adopt -f', () => {
  test.each([
    ['ouroboros', ofOuroboros(['b.example.org', 'a.example.org'])],
    ['ouroboros, with words behind its markers', ofOuroboros(['a.example.org', 'b.example.org'], ' since 0.8')],
    ['hairpin-proxy', ofHairpinProxy(['a.example.org', 'b.example.org'])],
  ])('%s: every name comes over, every other byte stays', async (_tool, text) => {
    const {exitCode, stdout} = await adopt(write(text))
    expect(exitCode).toBe(0)
    expect(namesIn(stdout)).toEqual([ours('a.example.org'), ours('b.example.org')])
    expect(stdout).not.toMatch(/ouroboros|hairpin/)
    const rest = stdout.split('\n').filter((line) => !/srcip/.test(line))
    expect(rest.join('\n')).toBe(plain)
    const back = await srcip(['coredns', 'clean', '-f', write(stdout)])
    expect(back.stdout).toBe(plain)
  })

  test('names that are ours already stay beside those that come', async () => {
    const {stdout: own} = await srcip(['coredns', 'apply', '-f', write(plain), '--host', 'own.example.org'])
    const line = `    rewrite name a.example.org hairpin-proxy.hairpin-proxy.svc.cluster.local # Added by hairpin-proxy\n`
    const {stdout} = await adopt(write(own.replace('    errors\n', `${line}    errors\n`)))
    expect(namesIn(stdout)).toEqual([ours('a.example.org'), ours('own.example.org')])
  })

  test('--target keeps a proxy that is there, --exclude lets a name go', async () => {
    const more = ['--target', 'cozy-ouroboros/ouroboros-proxy', '--exclude', 'b.example.org']
    const {exitCode, stdout} = await adopt(write(ofOuroboros(['a.example.org', 'b.example.org'])), ...more)
    expect(exitCode).toBe(0)
    expect(namesIn(stdout)).toEqual([`a.example.org ${theirTarget}`])
    expect(stdout).toContain(begin)
  })

  test('stdin to stdout, and in place', async () => {
    const text = ofOuroboros(['a.example.org'])
    const piped = await srcip(['coredns', 'adopt', '-f', '-'], {input: text})
    expect(namesIn(piped.stdout)).toEqual([ours('a.example.org')])
    const path = write(text)
    const {exitCode, stdout} = await adopt(path, '--in-place', '--detailed-exitcode')
    expect([exitCode, stdout]).toEqual([20, ''])
    expect(readFileSync(path, 'utf8')).toBe(piped.stdout)
  })

  test('nothing of another tool: the file as it is', async () => {
    const {exitCode, stdout} = await adopt(write(plain))
    expect([exitCode, stdout]).toEqual([0, plain])
  })

  test('a name that cannot come over would be lost: nothing is printed, and the way out is', async () => {
    const text = ofOuroboros(['a.example.org', 'web.demo.svc.cluster.local'])
    const {exitCode, stdout, stderr} = await adopt(write(text))
    expect([exitCode, stdout]).toEqual([32, ''])
    expect(stderr).toContain('web.demo.svc.cluster.local would be lost')
    expect(stderr).toContain('--exclude web.demo.svc.cluster.local')
    expect((await adopt(write(text), '--exclude', 'web.demo.svc.cluster.local')).exitCode).toBe(0)
  })

  test('lines that lost their markers in an upgrade are known by where they lead', async () => {
    const text = ofOuroboros(['a.example.org']).replaceAll(/^ +#.*\n/gm, '')
    const {exitCode, stdout} = await adopt(write(text))
    expect(exitCode).toBe(0)
    expect(namesIn(stdout)).toEqual([ours('a.example.org')])
    expect(stdout).not.toContain('ouroboros')
  })

  test('damaged markers are refused with their lines; --repair takes them over', async () => {
    const text = ofOuroboros(['a.example.org']).replace('    # === END ouroboros ===\n', '')
    const {exitCode, stderr} = await adopt(write(text))
    expect(exitCode).toBe(32)
    expect(stderr).toContain('BEGIN on line 6 has no END')
    const repaired = await adopt(write(text), '--repair')
    expect(repaired.exitCode).toBe(0)
    expect(repaired.stdout).not.toContain('BEGIN ouroboros')
  })
})

describe('--owner ouroboros', () => {
  const text = ofOuroboros(['a.example.org', 'gone.example.org'], ' edited on 1 May')
  const owner = ['--owner', 'ouroboros', '--target', 'cozy-ouroboros/ouroboros-proxy']

  test('plan, apply: its section, its target; without it the file is refused', async () => {
    const more = [...owner, '--host', 'a.example.org', '--host', 'new.example.org']
    const {exitCode, stdout} = await srcip(['coredns', 'apply', '-f', write(text), ...more])
    expect(exitCode).toBe(0)
    expect(namesIn(stdout)).toEqual([`a.example.org ${theirTarget}`, `new.example.org ${theirTarget}`])
    expect(stdout.match(/^ +# === BEGIN ouroboros \(do not edit by hand\) ===$/gm)).toHaveLength(1)
    expect(stdout).not.toContain('srcip')
    const planned = await srcip(['coredns', 'plan', '-f', write(text), ...more, '-o', 'name'])
    expect(planned.stdout).toBe('a.example.org\nnew.example.org\n')
    const refused = await srcip(['coredns', 'apply', '-f', write(text), '--host', 'new.example.org'])
    expect(refused.exitCode).toBe(33)
    expect(refused.stderr).toContain('coredns adopt')
  })

  test('clean: its section goes, byte for byte; as srcip it stays', async () => {
    const {exitCode, stdout} = await srcip(['coredns', 'clean', '-f', write(text), ...owner])
    expect([exitCode, stdout]).toEqual([0, plain])
    const kept = await srcip(['coredns', 'clean', '-f', write(text)])
    expect([kept.exitCode, kept.stdout]).toEqual([0, text])
  })

  test('show: whose each rewrite is, whatever stands behind the marker', async () => {
    const {stdout} = await srcip(['coredns', 'show', '-f', write(text), '-o', 'json'])
    const {blocks} = JSON.parse(stdout) as {blocks: {rewrites: {owner: string}[]}[]}
    expect(blocks.flatMap(({rewrites}) => rewrites.map((rule) => rule.owner))).toEqual(['ouroboros', 'ouroboros'])
  })
})
