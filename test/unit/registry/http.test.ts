import fc from 'fast-check'
import {readQuota} from '../../../src/registry/http/quota.ts'
import {describe, expect, test} from 'vitest'
import {joinScopes, readChallenges, splitScopes} from '../../../src/registry/auth/challenge.ts'
import {readErrorBody} from '../../../src/registry/errors.ts'
import {guardedLookup, mayLeadTo, reachOf} from '../../../src/registry/http/address-guard.ts'
import {Gate} from '../../../src/registry/http/gate.ts'
import {proxiesFromEnvironment} from '../../../src/registry/http/proxy-rules.ts'
import {backoff, isRetryStatus, readRetryAfter, usualRetries} from '../../../src/registry/http/retry.ts'
import {cleanText, redactText, redactUrl} from '../../../src/registry/text.ts'

describe('challenges', () => {
  test('trap 19: several in one header, quoted commas and escapes, any case', () => {
    const header =
      'Negotiate, BASIC realm="a, b \\"c\\"", Bearer realm="https://t.example.org/token",service="s",scope="repository:a:pull,push repository:b:pull"'
    expect(readChallenges(header)).toEqual([
      {scheme: 'negotiate', parameters: {}},
      {scheme: 'basic', parameters: {realm: 'a, b "c"'}},
      {
        scheme: 'bearer',
        parameters: {
          realm: 'https://t.example.org/token',
          service: 's',
          scope: 'repository:a:pull,push repository:b:pull',
        },
      },
    ])
  })
  test('any text is read without harm and in linear time', () => {
    fc.assert(fc.property(fc.string({maxLength: 2000}), (text) => Array.isArray(readChallenges(text))))
    const started = performance.now()
    readChallenges(`Bearer ${'a="b\\'.repeat(3000)}`)
    expect(performance.now() - started).toBeLessThan(1000)
  })
  test('trap 19: scopes of one text are split and joined by repository', () => {
    expect(splitScopes('repository:a:pull,push repository:b:pull')).toEqual([
      'repository:a:pull,push',
      'repository:b:pull',
    ])
    expect(joinScopes(['repository:a:pull', 'repository:b:pull', 'repository:a:push'])).toEqual([
      'repository:a:pull,push',
      'repository:b:pull',
    ])
  })
})

describe('Retry-After', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  test.each([
    ['5', undefined, 5000],
    ['0', undefined, 0],
    ['Thu, 01 Jan 2026 00:00:10 GMT', undefined, 10_000],
    // The server's clock is an hour ahead: its own Date tells what it means.
    ['Thu, 01 Jan 2026 01:00:10 GMT', 'Thu, 01 Jan 2026 01:00:00 GMT', 10_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', undefined, 0],
    ['soon', undefined, undefined],
    ['-5', undefined, undefined],
    [undefined, undefined, undefined],
  ])('trap 24: %s with Date %s: %s ms', (value, date, expected) => {
    expect(readRetryAfter(value, date, now)).toBe(expected)
  })
  test('waits grow, are random below their bound, and end at 30 s', () => {
    expect(backoff(usualRetries, 0, () => 1)).toBe(500)
    expect(backoff(usualRetries, 3, () => 0.5)).toBe(2000)
    expect(backoff(usualRetries, 20, () => 1)).toBe(30_000)
  })
  test.each([408, 425, 429, 499, 500, 502, 503, 504, 520, 524])('%i is worth another try', (status) =>
    expect(isRetryStatus(status)).toBe(true),
  )
  test.each([400, 401, 403, 404, 405, 409, 413, 416, 501])('%i is not', (status) =>
    expect(isRetryStatus(status)).toBe(false),
  )
})

describe('addresses', () => {
  test.each([
    ['127.0.0.1', 'local'],
    ['169.254.169.254', 'local'],
    ['0.0.0.0', 'local'],
    ['224.0.0.1', 'local'],
    ['::1', 'local'],
    ['fe80::1', 'local'],
    ['::ffff:169.254.169.254', 'local'],
    ['64:ff9b::7f00:1', 'local'],
    ['10.1.2.3', 'private'],
    ['172.20.0.1', 'private'],
    ['fd00::1', 'private'],
    ['8.8.8.8', 'public'],
    ['2001:4860::8', 'public'],
  ])('%s is %s', (address, reach) => expect(reachOf(address)).toBe(reach))
  test('a registry leads only outwards', () => {
    expect(mayLeadTo('public', 'private')).toBe(false)
    expect(mayLeadTo('private', 'local')).toBe(false)
    expect(mayLeadTo('private', 'public')).toBe(true)
    expect(mayLeadTo('local', 'local')).toBe(true)
  })
  test('the resolved address counts, not the name', async () => {
    const error = await new Promise<Error | null>((resolve) =>
      guardedLookup('public', 'registry.example.org')('localhost', {}, resolve),
    )
    expect(error?.message).toContain('an address of this machine')
  })
})

describe('proxies of the environment', () => {
  const through = (env: Record<string, string>, url: string) => proxiesFromEnvironment(env).proxyFor(new URL(url))?.host
  test.each([
    [{https_proxy: 'http://p.example.org:3128'}, 'https://r.example.org/', 'p.example.org:3128'],
    [{HTTPS_PROXY: 'http://up:1', https_proxy: 'http://low:1'}, 'https://r.example.org/', 'low:1'],
    [{HTTP_PROXY: 'http://p:1', REQUEST_METHOD: 'GET'}, 'http://r.example.org/', undefined],
    [{ALL_PROXY: 'p:8080'}, 'https://r.example.org/', 'p:8080'],
    [{HTTPS_PROXY: 'http://p:1'}, 'https://localhost/', undefined],
    [{HTTPS_PROXY: 'http://p:1'}, 'https://127.0.0.9/', undefined],
    [{HTTPS_PROXY: 'http://p:1', NO_PROXY: '*'}, 'https://r.example.org/', undefined],
    [{HTTPS_PROXY: 'http://p:1', no_proxy: '.example.org'}, 'https://r.example.org/', undefined],
    [{HTTPS_PROXY: 'http://p:1', no_proxy: 'example.org'}, 'https://r.example.org/', undefined],
    [{HTTPS_PROXY: 'http://p:1', no_proxy: 'ample.org'}, 'https://r.example.org/', 'p:1'],
    [{HTTPS_PROXY: 'http://p:1', no_proxy: 'example.org:5000'}, 'https://example.org/', 'p:1'],
    [{HTTPS_PROXY: 'http://p:1', no_proxy: 'example.org:5000'}, 'https://example.org:5000/', undefined],
    [{HTTPS_PROXY: 'http://p:1', no_proxy: '10.0.0.0/8, 192.168.1.1'}, 'https://10.9.8.7/', undefined],
    [{HTTPS_PROXY: 'http://p:1', no_proxy: '10.0.0.0/8'}, 'https://11.9.8.7/', 'p:1'],
    [{HTTPS_PROXY: 'http://p:1', no_proxy: '[2001:db8::]/32,2001:db8::5'}, 'https://[2001:db8::5]/', undefined],
    [{HTTPS_PROXY: 'http://p:1', no_proxy: '2001:db8::/32'}, 'https://[2001:db8::7]:443/', undefined],
  ])('trap 45: %j, %s: %s', (env, url, expected) => expect(through(env as Record<string, string>, url)).toBe(expected))
  test('a proxy of another kind is refused without its password', () => {
    expect(() => proxiesFromEnvironment({https_proxy: 'socks5://u:secret@p:1'})).toThrow(/socks5:\/\/p:1/)
    expect(() => proxiesFromEnvironment({https_proxy: 'socks5://u:secret@p:1'})).not.toThrow(/secret/)
  })
})

test('a gate lets the limit in, halves on a pause, and serves the urgent first', async () => {
  const gate = new Gate(2)
  expect(gate.enter()).toBeUndefined()
  expect(gate.enter()).toBeUndefined()
  const order: string[] = []
  const waiting = [
    gate.enter(5)?.then(() => order.push('late')),
    gate.enter(1)?.then(() => order.push('soon')),
    gate.enter(1)?.then(() => order.push('soon too')),
  ]
  for (let left = 0; left < 3; left++) {
    gate.leave()
    await Promise.resolve()
  }
  await Promise.all(waiting.map((one) => Promise.resolve(one)))
  expect(order).toEqual(['soon', 'soon too', 'late'])
  gate.pause(1, 0)
  expect(gate.limit).toBe(1)
  for (let good = 0; good < 20; good++) gate.good()
  expect(gate.limit).toBe(2)
})

describe('texts of others', () => {
  test('no control character and no direction mark passes', () => {
    fc.assert(
      fc.property(
        fc.string({unit: 'binary'}),
        (text) => !/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]/.test(cleanText(text)),
      ),
    )
  })
  test('trap 47: queries, tokens, passwords and logins are taken out', () => {
    expect(redactUrl('https://u:p@s3.example.org/b?X-Amz-Signature=abc')).toBe('https://s3.example.org/b?…')
    for (const text of [
      'Authorization: Bearer abcdefghijkl',
      '{"token":"abcdefghijkl"}',
      'https://x/?_state=abcdefghijkl&a=b',
      'http://user:abcdefghijkl@host/',
    ]) {
      expect(redactText(text)).not.toContain('abcdefghijkl')
    }
  })
  test('an error body that is HTML, empty or JSON of another kind is only text', () => {
    expect(readErrorBody('<html><body>Bad <b>Gateway</b></body></html>')).toEqual({codes: [], detail: 'Bad Gateway'})
    expect(readErrorBody('')).toEqual({codes: [], detail: ''})
    expect(readErrorBody('{"errors":[{"code":"DENIED","message":"no"}]}')).toEqual({
      codes: ['DENIED'],
      detail: 'DENIED: no',
    })
    fc.assert(fc.property(fc.json(), (text) => typeof readErrorBody(text).detail === 'string'))
  })
})

test.each([
  [
    {'ratelimit-limit': '100;w=21600', 'ratelimit-remaining': '76;w=21600'},
    {remaining: 76, limit: 100, windowSeconds: 21600},
  ],
  [{'ratelimit-remaining': '0'}, {remaining: 0}],
  [{'ratelimit-limit': '100;w=21600'}, undefined],
  [{'ratelimit-remaining': 'soon'}, undefined],
  [
    {'ratelimit-remaining': '5', 'ratelimit-limit': '200;comment="x";w=60'},
    {remaining: 5, limit: 200, windowSeconds: 60},
  ],
])('rate limit %j', (headers, quota) => expect(readQuota(headers)).toEqual(quota))
