import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {SrcipError} from '../../../src/model/errors.ts'
import {digestOf, digestProblem} from '../../../src/registry/digest.ts'
import {formatReference, parseReference, parseTarget} from '../../../src/registry/reference.ts'
import {refuseClashes, targetRepository} from '../../../src/registry/target.ts'

const digest = `sha256:${'a1'.repeat(32)}`

test.each([
  ['registry.example.org/acme/app:1.0', {host: 'registry.example.org', repository: 'acme/app', tag: '1.0'}],
  [`registry.example.org/acme/app:1.0@${digest}`, {tag: '1.0', digest}],
  [`registry.example.org:5000/app@${digest}`, {host: 'registry.example.org:5000', repository: 'app', digest}],
  ['localhost/app:1', {host: 'localhost', repository: 'app'}],
  ['localhost:5000/app:1', {host: 'localhost:5000', repository: 'app'}],
  ['[2001:db8::5]:5000/a/b:1', {host: '[2001:db8::5]:5000', repository: 'a/b', tag: '1'}],
  ['alpine:3', {host: 'docker.io', repository: 'library/alpine', tag: '3'}],
  ['acme/app:1', {host: 'docker.io', repository: 'acme/app'}],
  ['index.docker.io/alpine:3', {host: 'docker.io', repository: 'library/alpine'}],
  ['REGISTRY.Example.org/acme/app:1', {host: 'registry.example.org'}],
  ['oci://registry.example.org/charts/app:1.2.3+build.4', {tag: '1.2.3_build.4', chart: true}],
  ['oci://registry.example.org/charts/app', {chart: true, repository: 'charts/app'}],
  ['mirror.gcr.io/alpine/kubectl:1.36', {tag: '1.36'}],
  ['r.example.org/a__b/c-d.e---f:1', {repository: 'a__b/c-d.e---f'}],
])('trap 2, 34: %s is read', (text, expected) => {
  expect(parseReference(text)).toMatchObject(expected)
})

test.each([
  ['registry.example.org/acme/app', 'latest is not assumed'],
  ['registry.example.org/acme/app:1@sha256:00', 'too short: 2 of 64'],
  [`registry.example.org/acme/app@sha256:${'A1'.repeat(32)}`, 'lower-case hexadecimal'],
  [`registry.example.org/acme/app@md5:${'a'.repeat(32)}`, 'algorithm md5'],
  ['registry.example.org/Acme/app:1', 'upper-case'],
  ['registry.example.org/acme/../app:1', 'not allowed'],
  ['registry.example.org//app:1', 'not allowed'],
  ['registry.example.org/app:', 'tag'],
  [`registry.example.org/app:${'x'.repeat(129)}`, 'tag'],
  ['registry.example.org:99999/app:1', 'port'],
  ['-bad-.example.org/app:1', 'host'],
  ['https://registry.example.org/app:1', 'scheme'],
  ['registry.example.org/a b:1', 'white space'],
  ['registry.example.org/app:1\u001b[2J', 'control'],
  [`r.example.org/${'a/'.repeat(130)}b:1`, 'longer than 255'],
  ['', 'not allowed'],
])('%j is refused', (text, reason) => {
  const attempt = () => parseReference(text)
  expect(attempt).toThrow(SrcipError)
  expect(attempt).toThrow(reason)
})

test('whatever is read is written the same way again, and nothing else than a usage error is thrown', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z0-9.:/@_-]{1,60}$/)), (text) => {
      try {
        const reference = parseReference(text)
        if (!reference.chart)
          expect(parseReference(formatReference(reference))).toMatchObject({
            host: reference.host,
            repository: reference.repository,
          })
      } catch (error) {
        expect(error).toBeInstanceOf(SrcipError)
        expect((error as SrcipError).exitCode).toBe(2)
        expect((error as SrcipError).message).not.toMatch(/[\u0000-\u001f\u007f]/)
      }
    }),
  )
})

test('a digest never becomes a path that leaves its folder', () => {
  fc.assert(
    fc.property(fc.string(), (text) =>
      digestProblem(text) === undefined ? !text.includes('/') && !text.includes('..') : true,
    ),
  )
  expect(digestProblem('sha256:../../etc/passwd')).toBeDefined()
  expect(digestProblem(digestOf(Buffer.from('x'), 'sha512'))).toBeUndefined()
})

describe('places at the target', () => {
  const source = {host: 'ghcr.io', repository: 'lexfrei/charts/ouroboros'}

  test.each([
    ['mirror.example.org', 'keep', false, 'lexfrei/charts/ouroboros'],
    ['mirror.example.org/team/x', 'keep', false, 'team/x/lexfrei/charts/ouroboros'],
    ['mirror.example.org/team', 'host-prefix', false, 'team/ghcr.io/lexfrei/charts/ouroboros'],
    ['mirror.example.org', 'flat', false, 'lexfrei-charts-ouroboros'],
    ['mirror.example.org', 'flat', true, 'lexfrei/charts/ouroboros'],
  ] as const)('%s, %s, chart %s', (to, layout, chart, expected) => {
    expect(targetRepository(source, parseTarget(to), layout, chart)).toBe(expected)
  })

  test('a port of the source becomes part of a legal path', () => {
    expect(
      targetRepository(
        {host: '[2001:db8::5]:5000', repository: 'a'},
        parseTarget('m.example.org'),
        'host-prefix',
        false,
      ),
    ).toMatch(/^2001-db8--5-5000\/a$/)
  })

  test.each(['http://mirror.example.org', 'mirror.example.org/UP', 'mirror_x/y', ''])('--to %j is refused', (text) => {
    expect(() => parseTarget(text)).toThrow(SrcipError)
  })

  test('two sources in one tag are refused, the same content is not', () => {
    const clash = [
      {source: 'a.example.org/app', target: 'm/app', tag: '1', digest: 'x'},
      {source: 'b.example.org/app', target: 'm/app', tag: '1', digest: 'y'},
    ]
    expect(() => refuseClashes(clash)).toThrow('a.example.org/app and b.example.org/app would both become m/app:1')
    expect(() => refuseClashes(clash.map((one) => ({...one, digest: 'x'})))).not.toThrow()
  })
})
