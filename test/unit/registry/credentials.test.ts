import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {afterAll, describe, expect, test} from 'vitest'
import {SrcipError} from '../../../src/model/errors.ts'
import {
  credentialsFromFiles,
  credentialsFromSecrets,
  keyCovers,
  matchingEntries,
  normalizeKey,
  usualAuthFiles,
  type AuthFile,
} from '../../../src/registry/auth/credential-files.ts'

const folder = mkdtempSync(join(tmpdir(), 'srcip-logins-'))
afterAll(() => rmSync(folder, {recursive: true, force: true}))
const login = (user: string, password = 'p') => ({auth: Buffer.from(`${user}:${password}`).toString('base64')})
let files = 0
function file(content: object | string): string {
  const path = join(folder, `${files++}.json`)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const users = async (
  content: AuthFile[],
  host: string,
  repository: string,
  ask?: Parameters<typeof credentialsFromFiles>[0]['ask'],
) => {
  const warnings: string[] = []
  const source = credentialsFromFiles({
    files: content.map(file),
    warn: (message) => warnings.push(message),
    ...(ask === undefined ? {} : {ask}),
  })
  return {users: (await source.candidates(host, repository)).map(({username}) => username), warnings}
}

test.each([
  ['https://registry.example.org/v1/', 'registry.example.org'],
  ['http://Registry.example.org:5000/v2', 'registry.example.org:5000'],
  ['https://index.docker.io/v1/', 'docker.io'],
  ['registry-1.docker.io', 'docker.io'],
  ['registry.example.org/team/', 'registry.example.org/team'],
])('key %s is %s', (key, expected) => expect(normalizeKey(key)).toBe(expected))

describe('which key counts', () => {
  const auths = {
    'r.example.org': login('host'),
    'r.example.org/team': login('team'),
    'https://r.example.org/team/deep/': login('deep'),
    'r.example.org:5000': login('port'),
  }
  test.each([
    ['r.example.org', 'other/app', ['host']],
    ['r.example.org', 'team/app', ['team', 'host']],
    ['r.example.org', 'team/deep/app', ['deep', 'team', 'host']],
    ['r.example.org', 'teams/app', ['host']],
    ['r.example.org:5000', 'team/app', ['port']],
    ['example.org', 'team/app', []],
  ])('%s %s: %j', (host, repository, expected) => {
    expect(matchingEntries({auths}, host, repository, 'f').map(({username}) => username)).toEqual(expected)
  })
  test('trap 39: patterns of pull secrets match label by label, with the port, after exact hosts', () => {
    expect(keyCovers('*.example.org', 'r.example.org', 'a')).toBeGreaterThan(0)
    expect(keyCovers('*.example.org', 'a.b.example.org', 'a')).toBe(-1)
    expect(keyCovers('*.example.org:5000', 'r.example.org', 'a')).toBe(-1)
    expect(keyCovers('r.example.org', 'r.example.org', 'a')).toBeGreaterThan(
      keyCovers('*.example.org', 'r.example.org', 'a'),
    )
  })
})

test('trap 2, 22: the first file that knows the host decides; its programs go before its entries, its store after', async () => {
  const ask = async (name: string, host: string) => ({username: `${name} for ${host}`, password: 'x', from: 'program'})
  expect(
    (
      await users(
        [{auths: {'other.example.org': login('no')}}, {auths: {'r.example.org': login('second')}}],
        'r.example.org',
        'a',
      )
    ).users,
  ).toEqual(['second'])
  expect(
    (
      await users(
        [{auths: {'r.example.org': login('entry')}, credHelpers: {'r.example.org': 'helper'}}],
        'r.example.org',
        'a',
        ask,
      )
    ).users,
  ).toEqual(['helper for r.example.org'])
  expect((await users([{auths: {'r.example.org': {}}, credsStore: 'store'}], 'r.example.org', 'a', ask)).users).toEqual(
    ['store for r.example.org'],
  )
  expect((await users([{credsStore: 'store'}], 'docker.io', 'library/a', ask)).users).toEqual([
    'store for https://index.docker.io/v1/',
  ])
})

test('a program that is missing is said and does not stop the rest', async () => {
  const {users: found, warnings} = await users(
    [{credHelpers: {'r.example.org': 'not-installed-anywhere'}}, {auths: {'r.example.org': login('file')}}],
    'r.example.org',
    'a',
  )
  expect(found).toEqual(['file'])
  expect(warnings[0]).toContain('docker-credential-not-installed-anywhere is not on PATH')
  expect((await users([{credsStore: '../../bin/sh'}], 'r.example.org', 'a')).warnings[0]).toContain(
    'is no name of a credential program',
  )
})

test('passwords may hold colons and trailing NULs; identity tokens are kept apart; broken files are named', async () => {
  const [entry] = matchingEntries({auths: {r: {auth: Buffer.from('u:a:b\0\0').toString('base64')}}}, 'r', 'a', 'f')
  expect(entry).toMatchObject({username: 'u', password: 'a:b', from: 'f, key r'})
  expect(matchingEntries({auths: {r: {auth: '', identitytoken: 'tok'}}}, 'r', 'a', 'f')[0]).toMatchObject({
    identityToken: 'tok',
  })
  const source = credentialsFromFiles({files: [file('{not json')], warn: () => {}})
  await expect(source.candidates('r', 'a')).rejects.toThrow(SrcipError)
  expect(await credentialsFromFiles({files: ['/nonexistent/x'], warn: () => {}}).candidates('r', 'a')).toEqual([])
})

test('pull secrets give every match in turn', async () => {
  const source = credentialsFromSecrets([
    {name: 'ns/one', file: {auths: {'*.example.org': login('first')}}},
    {name: 'ns/two', file: {auths: {'r.example.org': login('second')}}},
  ])
  expect((await source.candidates('r.example.org', 'a')).map(({username}) => username)).toEqual(['first', 'second'])
})

test('files are looked for in the order of the tools', () => {
  expect(
    usualAuthFiles({
      REGISTRY_AUTH_FILE: '/a',
      DOCKER_CONFIG: '/d',
      XDG_RUNTIME_DIR: '/r',
      XDG_CONFIG_HOME: '/c',
      HOME: '/h',
    }),
  ).toEqual([
    '/a',
    '/d/config.json',
    '/r/containers/auth.json',
    '/c/containers/auth.json',
    '/c/helm/registry/config.json',
  ])
  expect(usualAuthFiles({HOME: '/h'})).toEqual([
    '/h/.docker/config.json',
    '/h/.config/containers/auth.json',
    '/h/.config/helm/registry/config.json',
  ])
})
