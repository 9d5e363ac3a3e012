import {describe, expect, test} from 'vitest'
import {renderHaproxyConfig} from '../../../../src/proxy/engines/haproxy-config.ts'
import {readProcesses, readStatistics} from '../../../../src/proxy/engines/haproxy-stats.ts'
import {parseProxyOptions, type ProxyFlags} from '../../../../src/proxy/parse-options.ts'
import type {Route} from '../../../../src/proxy/target/target.ts'
import {proxyFlags} from '../../../support/proxy-flags.ts'

const candidate = (address: string, sendsHeader = true, isFit = true) => ({address, port: 80, sendsHeader, isFit})
const render = (routes: Route[], flags: Partial<ProxyFlags> = {}) =>
  renderHaproxyConfig({
    options: parseProxyOptions(proxyFlags({engine: 'haproxy', port: ['80=8080'], ...flags}), 1),
    routes,
    statsSocket: '/run/stats.sock',
  })

describe('configuration', () => {
  test('header by version, unfit addresses as backup, IPv6 in brackets', () => {
    const routes = [
      {
        service: 80,
        candidates: [candidate('10.244.0.1'), candidate('2001:db8::1', false), candidate('10.244.0.3', true, false)],
      },
    ]
    const text = render(routes)
    expect(text).toContain('  server target-0 10.244.0.1:80 send-proxy\n')
    expect(text).toContain('  server target-1 [2001:db8::1]:80\n')
    expect(text).toContain('  server target-2 10.244.0.3:80 send-proxy backup\n')
    expect(render(routes, {'proxy-protocol': 'v2'})).toContain('10.244.0.1:80 send-proxy-v2\n')
    expect(render(routes)).toBe(text)
  })

  test('only unfit addresses: all are tried', () => {
    expect(render([{service: 80, candidates: [candidate('10.244.0.1', true, false)]}])).not.toContain('backup')
  })

  test('the Service port stands in the header, the limit counts all ports, every family has its own socket', () => {
    const text = render([], {port: ['80=8080', '443=8443'], 'max-connections': 500})
    expect(text).toContain('set-dst-port int(443)')
    expect(text).toContain('reject if { var(sess.open) -m int gt 500 }')
    expect(text).toContain('fe_conn(port-443),add(sess.open)')
    expect(text).toContain('  bind 0.0.0.0:8443\n  bind [::]:8443 v6only\n')
  })

  test('nothing but an address can become a server line', () => {
    expect(() => render([{service: 80, candidates: [candidate('10.0.0.1\n  bind :1')]}])).toThrow('is not an address')
  })
})

test('process ids of current and old workers', () => {
  const answer =
    '#<PID> <type> <reloads>\n29015   master   1 [failed: 0]  0d00h00m03s\n# workers\n29089           worker          0   0d00h00m01s     2.6.12\n# old workers\n29020           worker          1   0d00h00m03s     2.6.12\n# programs\n\n'
  expect(readProcesses(answer)).toEqual({current: [29089], old: [29020]})
  expect(readProcesses('')).toEqual({current: [], old: []})
})

test('statistics by column name', () => {
  const answer = [
    '# pxname,svname,scur,stot,bin,bout,econ,dcon,connect,ctime,wretr,cli_abrt,srv_abrt,',
    'port-80,FRONTEND,2,4,152,328,,3,,,,,,',
    'port-80,target-0,2,4,152,328,1,,4,5,2,0,0,',
    'port-80,BACKEND,2,4,152,328,1,,4,5,2,6,7,',
    'port-22,FRONTEND,0,1,9,9,,0,,,,,,',
    'port-22,BACKEND,0,1,9,9,0,,1,0,0,0,0,',
    'other,FRONTEND,9,9,9,9,,9,,,,,,',
  ].join('\n')
  const [http, ssh, ...rest] = readStatistics(answer, new Set([80]))
  expect(rest).toEqual([])
  expect(http).toMatchObject({
    port: 80,
    accepted: 4,
    active: 2,
    connected: 4,
    connectSeconds: 0.02,
    headersSent: 4,
    bytesUp: 152,
    bytesDown: 328,
    errors: {'max-connections': 3, 'connect-failed': 3, 'connect-timeout': 1, 'client-reset': 6, 'target-reset': 7},
  })
  expect(ssh).toMatchObject({port: 22, accepted: 1, headersSent: 0})
})
