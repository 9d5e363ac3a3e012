import {describe, expect, test} from 'vitest'
import {readOuroborosFlags} from '../../../src/proxy/ouroboros-flags.ts'
import {parseProxyOptions, type ProxyFlags} from '../../../src/proxy/parse-options.ts'

const options = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  parseProxyOptions(readOuroborosFlags(argv, env) as ProxyFlags, 1)

describe('a call in the words of ouroboros', () => {
  test('its defaults', () => {
    expect(options(['--compat', 'ouroboros'])).toMatchObject({
      to: 'ingress-nginx-controller.ingress-nginx.svc.cluster.local',
      ports: [
        {service: 80, listen: 8080, to: 80, sendsHeader: true, probe: 'tcp'},
        {service: 443, listen: 8443, to: 443, sendsHeader: true, probe: 'tcp'},
      ],
      listenAddress: '::',
      mode: 'always',
      version: 'v1',
      connectTimeout: 5000,
      probeTimeout: 2000,
      drainDelay: 2000,
      drainTimeout: 28_000,
      healthAddress: {host: '::', port: 8081},
    })
  })

  test('every flag, with one dash or two, joined or not; flags go before variables', () => {
    const argv = [
      '-listen-http',
      '127.0.0.1:9080',
      '--listen-https=127.0.0.1:9443',
      '-listen-health=',
      '--target-host',
      'edge.svc',
      '-target-http-port=8000',
      '--target-https-port',
      '8001',
      '--dial-timeout=1s',
      '-ready-timeout',
      '300ms',
      '--shutdown-grace=1s',
    ]
    const env = {OUROBOROS_PROXY_TARGET_HOST: 'other.svc', OUROBOROS_PROXY_DIAL_TIMEOUT: '9s'}
    expect(options(argv, env)).toMatchObject({
      to: 'edge.svc',
      ports: [
        {listen: 9080, to: 8000},
        {listen: 9443, to: 8001},
      ],
      listenAddress: '127.0.0.1',
      connectTimeout: 1000,
      probeTimeout: 300,
      drainDelay: 1000,
      drainTimeout: 0,
      healthAddress: undefined,
    })
  })

  test('variables alone; an empty one is none, an empty flag switches a port off', () => {
    const env = {OUROBOROS_PROXY_TARGET_HOST: 'edge.svc', OUROBOROS_PROXY_LISTEN_HTTP: ''}
    expect(options([], env)).toMatchObject({to: 'edge.svc', ports: [{service: 80, listen: 8080}, {service: 443}]})
    expect(options(['--listen-http='], env).ports).toMatchObject([{service: 443}])
  })

  test('a call in our own words is none', () => {
    expect(readOuroborosFlags(['--to', 'edge.svc'], {OUROBOROS_PROXY_TARGET_HOST: 'x'})).toBeUndefined()
    expect(readOuroborosFlags([], {SRCIP_TO: 'edge.svc', OUROBOROS_PROXY_TARGET_HOST: 'x'})).toBeUndefined()
    expect(readOuroborosFlags(['--help'], {})).toBeUndefined()
    expect(readOuroborosFlags([], {})).toBeUndefined()
  })

  test.each([
    [['--compat', 'hairpin'], 'only ouroboros'],
    [['--target-host'], 'needs a value'],
    [['--target-host', 'a', 'b'], '"b" is no flag'],
    [['--target-host', 'a', '--to', 'b'], '--to is no flag'],
    [['--dial-timeout=5'], '--dial-timeout expects a duration'],
    [['--listen-http=8080'], 'is not [ADDRESS]:PORT'],
    [['--listen-http=127.0.0.1:1', '--listen-https=127.0.0.2:2'], 'two addresses'],
  ])('%j is a usage error', (argv, words) => {
    expect(() => readOuroborosFlags(argv, {})).toThrow(
      expect.objectContaining({code: 'Usage', message: expect.stringContaining(words)}) as Error,
    )
  })
})
