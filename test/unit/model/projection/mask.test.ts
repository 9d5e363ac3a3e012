import {readdirSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {isSecretName, masked, maskNamed, maskText} from '../../../../src/model/projection/mask.ts'
import {propertySeed} from '../../../support/property-seed.ts'
import {secretForms} from './secret-forms.ts'

describe('what looks like a secret goes', () => {
  test.each(secretForms('k1Vq9-ZZtop').map((text) => [text]))('%j', (text) => {
    expect(maskText(text)).not.toContain('k1Vq9-ZZtop')
    expect(maskText(text)).toContain(masked)
  })

  test('the rest of the text stays as it was', () => {
    const text = [
      'mode: nftables',
      'password: hunter2',
      'credentials: |',
      '  user: x',
      '  pass: y',
      'clusterCIDR: 10.0.0.0/8',
      'token:',
      '- one',
      'x: y',
    ].join('\n')
    expect(maskText(text).split('\n')).toEqual([
      'mode: nftables',
      `password: ${masked}`,
      `credentials: ${masked}`,
      'clusterCIDR: 10.0.0.0/8',
      `token: ${masked}`,
      'x: y',
    ])
    expect(maskText('{"mode":"x","api_key":"abc","y":1}')).toBe(`{"mode":"x","api_key":${masked},"y":1}`)
    expect(maskText('user=a password=b c=d')).toBe(`user=a password=${masked} c=d`)
  })
})

describe('what is none stays', () => {
  test('Corefiles of many installers', () => {
    const folder = fileURLToPath(new URL('../../../cases/corefiles', import.meta.url))
    const files = readdirSync(folder, {recursive: true, encoding: 'utf8'}).filter((name) => !name.endsWith('.md'))
    expect(files.length).toBeGreaterThan(3)
    for (const file of files) {
      const text = readFileSync(join(folder, file), 'utf8')
      expect(maskText(text), file).toBe(text)
    }
  })

  test.each([
    'secret.example.org:53 {\n    forward . 192.0.2.1\n}',
    'rewrite name exact token.example.org srcip-proxy.srcip.svc.cluster.local.',
    'hosts {\n    192.0.2.1 password.example.org\n}',
    '--authentication-mode',
    '10.0.0.0/8,192.0.2.0/24',
  ])('%j', (text) => expect(maskText(text)).toBe(text))
})

test('names that are suspicious, and names that are not', () => {
  for (const name of ['password', 'DB_PASSWD', 'apiKey', 'api-token', 'clientSecret', '--bearer-token', 'htpasswd'])
    expect(isSecretName(name), name).toBe(true)
  for (const name of ['use-proxy-protocol', 'proxy-real-ip-cidr', 'keepalive', 'Corefile', 'configmap', 'keys'])
    expect(isSecretName(name), name).toBe(false)
  expect(maskNamed('password', '')).toBe('')
  expect(maskNamed('password', 'x')).toBe(masked)
})

test('masking twice is masking once, for any text', () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(
      'token',
      'password',
      '=',
      ': ',
      '\n',
      '  ',
      '"',
      "'",
      '{',
      '|',
      'Bearer abcdefgh',
      '-----BEGIN A-----',
    ),
    fc.constantFrom(masked, 'eyJabcdef.abcdef.x', '://u:p@h'),
  )
  fc.assert(
    fc.property(fc.array(piece, {maxLength: 30}), (pieces) => {
      const once = maskText(pieces.join(''))
      expect(maskText(once)).toBe(once)
    }),
    {seed: propertySeed, numRuns: 1000},
  )
})

test('hostile text of a megabyte is masked in a time that grows with its size', () => {
  const size = 1 << 20
  for (const unit of [
    'a',
    'token ',
    'token',
    '-----BEGIN X-----',
    '://',
    '"token": ',
    'eyJ',
    '\n token:',
    'eyJaaaaa.',
    '=token',
  ]) {
    expect(typeof maskText(unit.repeat(Math.ceil(size / unit.length)))).toBe('string')
  }
})
