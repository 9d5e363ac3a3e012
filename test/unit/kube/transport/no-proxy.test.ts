import {describe, expect, test} from 'vitest'
import fc from 'fast-check'
import {isExempt, proxyFromEnvironment} from '../../../../src/kube/transport/no-proxy.ts'

// Answers of golang.org/x/net/http/httpproxy for the same input.
describe('NO_PROXY', () => {
  test.each<[string, string, string, boolean]>([
    ['example.org', '443', 'example.org', true],
    ['kube.example.org', '443', 'example.org', true],
    ['notexample.org', '443', 'example.org', false],
    ['example.org', '443', '.example.org', false],
    ['kube.example.org', '443', '.example.org', true],
    ['kube.example.org', '443', '*.example.org', true],
    ['example.org', '443', '*.example.org', false],
    ['KUBE.example.org', '443', 'Example.ORG', true],
    ['example.org', '6443', 'example.org:6443', true],
    ['example.org', '443', 'example.org:6443', false],
    ['192.0.2.1', '443', '192.0.2.1', true],
    ['192.0.2.1', '443', '192.0.2.1:443', true],
    ['192.0.2.1', '443', '192.0.2.1:80', false],
    ['192.0.2.77', '443', '192.0.2.0/24', true],
    ['198.51.100.1', '443', '192.0.2.0/24', false],
    ['2001:db8::1', '443', '2001:db8::/32', true],
    ['2001:db8::1', '443', '[2001:db8::1]', false],
    ['2001:db8::1', '443', '[2001:db8::1]:443', true],
    ['2001:db8::1', '443', '2001:db8:0::1', true],
    ['example.org', '443', '*', true],
    ['example.org', '443', 'a, b ,*', true],
    ['example.org', '443', '', false],
    ['example.org', '443', ' , ,', false],
    ['example.org', '443', ':443', false],
    ['localhost', '443', '', true],
    ['127.0.0.8', '443', '', true],
    ['::1', '443', '', true],
    ['192.0.2.1', '443', '2.1', false],
    ['192.0.2.1', '443', '192.0.2.0/33', false],
    ['org', '443', 'example.org', false],
  ])('%s:%s with "%s": %s', (host, port, noProxy, expected) => {
    expect(isExempt(host, port, noProxy)).toBe(expected)
  })

  test('no text makes it fail', () => {
    fc.assert(
      fc.property(
        fc.string({unit: fc.constantFrom(...'ab.:/*[]0129,- ')}),
        (text) => typeof isExempt('a.b', '1', text) === 'boolean',
      ),
    )
  })
})

describe('the environment', () => {
  const url = new URL('https://kube.example.org:6443')
  test.each<[string, URL, Record<string, string>, string | undefined]>([
    ['https', url, {HTTPS_PROXY: 'http://p:1', HTTP_PROXY: 'http://q:2'}, 'http://p:1'],
    ['lower case', url, {https_proxy: 'http://p:1'}, 'http://p:1'],
    ['upper case first', url, {https_proxy: 'http://a:1', HTTPS_PROXY: 'http://b:1'}, 'http://b:1'],
    ['http', new URL('http://kube.example.org'), {HTTPS_PROXY: 'http://p:1', HTTP_PROXY: 'http://q:2'}, 'http://q:2'],
    ['no scheme', url, {HTTPS_PROXY: 'proxy.example.org:3128'}, 'http://proxy.example.org:3128'],
    ['a CGI process', new URL('http://kube.example.org'), {HTTP_PROXY: 'http://q:2', REQUEST_METHOD: 'GET'}, undefined],
    ['exempt', url, {HTTPS_PROXY: 'http://p:1', NO_PROXY: 'example.org'}, undefined],
    [
      'exempt by the standard port',
      new URL('https://kube.example.org'),
      {HTTPS_PROXY: 'http://p:1', no_proxy: 'example.org:443'},
      undefined,
    ],
    ['IPv6', new URL('https://[2001:db8::1]:6443'), {HTTPS_PROXY: 'http://p:1', NO_PROXY: '2001:db8::/32'}, undefined],
    ['nothing', url, {}, undefined],
  ])('%s', (_, target, env, expected) => {
    expect(proxyFromEnvironment(target, env)).toBe(expected)
  })
})
