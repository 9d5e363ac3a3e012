import {expect, test} from 'vitest'
import {readyz} from '../../../src/proxy/health.ts'
import {jsonLog, limitLog} from '../../../src/proxy/log.ts'
import {newCounters, renderMetrics, sumCounters} from '../../../src/proxy/metrics.ts'
import {ManualClock} from '../../support/manual-clock.ts'

test('counters of several threads add up by port', () => {
  const one = {...newCounters(80), accepted: 3, bytesUp: 10, errors: {idle: 1, loop: 2}}
  const two = {...newCounters(80), accepted: 4, bytesUp: 5, errors: {idle: 6}}
  expect(sumCounters(80, [one, two, {...newCounters(443), accepted: 9}])).toMatchObject({
    port: 80,
    accepted: 7,
    bytesUp: 15,
    errors: {idle: 7, loop: 2},
  })
})

test('every metric has help and type, and each sample a number', () => {
  const text = renderMetrics({
    engine: 'node',
    isReady: true,
    isDraining: false,
    counters: [{...newCounters(80), accepted: 3, errors: {'max-connections': 2}}],
    verdicts: [{port: 80, count: {header: 1, plain: 0, unknown: 0}}],
    processes: [
      {cpuSeconds: 1.5, residentBytes: 100, openFiles: 3, eventLoopLagSeconds: 0.1},
      {cpuSeconds: 0.5, residentBytes: 50, openFiles: 4, eventLoopLagSeconds: 0.3},
    ],
    startTime: 1_700_000_000,
  })
  for (const line of text.trimEnd().split('\n'))
    expect(line).toMatch(
      /^(# HELP [a-z_]+ .+|# TYPE [a-z_]+ (counter|gauge)|[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+)$/,
    )
  expect(text).toContain('srcip_proxy_connection_errors_total{port="80",reason="max-connections"} 2\n')
  expect(text).toContain('srcip_proxy_target_endpoints{port="80",takes="header"} 1\n')
  expect(text).toContain('process_cpu_seconds_total 2\n')
  expect(text).toContain('nodejs_eventloop_lag_seconds 0.3\n')
})

test('readyz names what fails and why', () => {
  expect(readyz([{name: 'shutdown', cause: undefined}])).toEqual([200, '[+]shutdown ok\nreadyz check passed\n'])
  const cause = {token: 'header-refused', message: 'no'}
  expect(
    readyz([
      {name: 'shutdown', cause: undefined},
      {name: 'port-80', cause},
    ]),
  ).toEqual([503, '[+]shutdown ok\n[-]port-80 header-refused: no\nreadyz check failed\n'])
})

test('a flood of lines of one kind is cut and counted, others are not touched', async () => {
  const clock = new ManualClock()
  const lines: string[] = []
  const log = limitLog(clock, (kind, message) => lines.push(`${kind}:${message}`))
  for (let index = 0; index < 80; index++) log('a', String(index))
  log('b', 'x')
  expect(lines).toHaveLength(51)
  await clock.advance(10_000)
  log('a', 'again')
  expect(lines.slice(-2)).toEqual(['a:30 more lines of the kind a were left out', 'a:again'])
})

test('log lines are JSON, whatever a message holds', () => {
  let line = ''
  jsonLog(
    (text) => (line = text),
    () => new Date(0),
  )('kind', 'a "b"\nc')
  expect(JSON.parse(line)).toEqual({
    time: '1970-01-01T00:00:00.000Z',
    component: 'proxy',
    event: 'kind',
    message: 'a "b"\nc',
  })
  expect(line.trimEnd()).not.toContain('\n')
})
