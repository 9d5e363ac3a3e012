import {describe, expect, test} from 'vitest'
import {SrcipError} from '../../../src/model/errors.ts'
import {fitToMachine, type Machine} from '../../../src/proxy/machine.ts'
import {parseProxyOptions, readPorts} from '../../../src/proxy/parse-options.ts'
import {proxyFlags} from '../../support/proxy-flags.ts'

describe('--port', () => {
  test('defaults: 80 and 443, with the probes that fit them', () => {
    expect(parseProxyOptions(proxyFlags(), 1).ports).toEqual([
      {service: 80, listen: 8080, to: 80, sendsHeader: true, probe: 'http', hasFirstByteLimit: true},
      {service: 443, listen: 8443, to: 443, sendsHeader: true, probe: 'tls', hasFirstByteLimit: true},
    ])
  })

  test('options in any order, and several in one variable', () => {
    const {ports} = parseProxyOptions(
      proxyFlags({port: '80=8080,to=30080 25=2525,first-byte=off,plain\n5432=5432,probe=tcp'}),
      1,
    )
    expect(ports).toMatchObject([
      {service: 80, to: 30080, probe: 'http'},
      {service: 25, listen: 2525, to: 25, sendsHeader: false, hasFirstByteLimit: false},
      {service: 5432, probe: 'tcp', sendsHeader: true},
    ])
  })

  test.each([
    '',
    '80',
    '80=',
    '=80',
    '80=8080=1',
    '0=80',
    '80=65536',
    '80=080',
    '80=8080,what',
    '80=8080,to=x',
    '80=8080,probe=udp',
    'http=8080',
  ])('refuses %j and names it', (text) => {
    expect(() => readPorts([text])).toThrow(
      expect.objectContaining({code: 'Usage', message: expect.stringContaining(JSON.stringify(text))}) as Error,
    )
  })

  test.each([
    [['80=8080', '80=8081'], 'Service port 80'],
    [['80=8080', '81=8080'], 'listening port 8080'],
  ] as const)('refuses %j twice', (texts, words) => {
    expect(() => readPorts(texts)).toThrow(words)
  })
})

describe('flags that do not go together', () => {
  test.each([
    [{to: 'ingress.edge.svc:443'}, '--to'],
    [{to: 'two words'}, '--to'],
    [{to: '10.0.0'}, '--to'],
    [{to: ''}, '--to'],
    [{'send-proxy': 'auto', port: ['5432=5432']}, 'port 5432'],
    [{'trusted-cidr': ['10.0.0.0/8']}, '--trusted-cidr'],
    [{engine: 'haproxy', 'accept-proxy': true}, '--engine haproxy'],
    [{listen: 'eth0'}, '--listen'],
    [{'max-connections': 0}, '--max-connections'],
    [{workers: '0'}, '--workers'],
    [{workers: 'many'}, '--workers'],
    [{'health-address': '8081'}, '--health-address'],
    [{'health-address': 'host:8081'}, '--health-address'],
    [{'probe-interval': 1}, '--probe-interval'],
    [{'connect-timeout': 0}, '--connect-timeout'],
  ] as const)('%j', (flags, words) => {
    const parse = () => parseProxyOptions(proxyFlags(flags), 1)
    expect(parse).toThrow(SrcipError)
    expect(parse).toThrow(words)
  })

  test.each([
    [{to: 'ingress.edge.svc'}, {to: 'ingress.edge.svc'}],
    [{to: '[2001:db8::1]'}, {to: '2001:db8::1'}],
    [{'health-address': ':9000'}, {healthAddress: {host: '::', port: 9000}}],
    [{'health-address': '[::1]:9000'}, {healthAddress: {host: '::1', port: 9000}}],
    [{'health-address': 'off'}, {healthAddress: undefined}],
    [{'send-proxy': 'auto'}, {probeInterval: 250}],
    [{'send-proxy': 'always'}, {probeInterval: 2000}],
    [{'send-proxy': 'auto', port: ['5432=5432,plain']}, {mode: 'auto'}],
    [{'accept-proxy': true, 'trusted-cidr': '10.0.0.0/8 192.0.2.1'}, {trusted: [{bits: 8}, {bits: 32}]}],
    [{workers: '3'}, {workers: 3}],
  ] as const)('%j is fine', (flags, wanted) => {
    expect(parseProxyOptions(proxyFlags(flags), 16)).toMatchObject(wanted)
  })

  test('auto takes the cores there are, at most four', () => {
    expect([1, 2, 64].map((cores) => parseProxyOptions(proxyFlags({workers: 'auto'}), cores).workers)).toEqual([
      1, 2, 4,
    ])
  })
})

describe('what the machine allows', () => {
  const machine: Machine = {openFiles: 1024, hasIPv6: true, addresses: new Set()}

  test('more connections than open files: lowered, with a warning', () => {
    const {options, warnings} = fitToMachine(parseProxyOptions(proxyFlags(), 1), machine)
    expect(options.maxConnections).toBe(462)
    expect(warnings).toEqual(['--max-connections 10000 is lowered to 462: a process may have 1024 open files only'])
    expect(fitToMachine(options, machine)).toEqual({options, warnings: []})
    // Threads share the files of their process.
    expect(fitToMachine(parseProxyOptions(proxyFlags({workers: '4'}), 1), machine).options.maxConnections).toBe(462)
  })

  test('no limit known, nothing lowered; no IPv6, every IPv4 address', () => {
    const given = parseProxyOptions(proxyFlags(), 1)
    const {options, warnings} = fitToMachine(given, {...machine, openFiles: Infinity, hasIPv6: false})
    expect(options).toEqual({...given, listenAddress: '0.0.0.0'})
    expect(warnings).toEqual([])
  })
})
