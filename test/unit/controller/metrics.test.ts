import {expect, test} from 'vitest'
import {createControllerMetrics} from '../../../src/controller/controller-metrics.ts'
import {Registry} from '../../../src/controller/metrics.ts'

test('text exposition: help, type, escaped labels, cumulative buckets', () => {
  const registry = new Registry()
  const counter = registry.counter('a_total', 'One\nline with \\.')
  counter.add({reason: 'say "no"\n\\'})
  counter.add({reason: 'say "no"\n\\'}, 2)
  registry.gauge('b', 'B.').set({}, Infinity)
  const histogram = registry.histogram('c_seconds', 'C.', [0.1, 1])
  for (const value of [0.05, 0.5, 5]) histogram.observe({name: 'x'}, value)
  expect(registry.expose()).toBe(
    [
      '# HELP a_total One\\nline with \\\\.',
      '# TYPE a_total counter',
      'a_total{reason="say \\"no\\"\\n\\\\"} 3',
      '# HELP b B.',
      '# TYPE b gauge',
      'b +Inf',
      '# HELP c_seconds C.',
      '# TYPE c_seconds histogram',
      'c_seconds_bucket{name="x",le="0.1"} 1',
      'c_seconds_bucket{name="x",le="1"} 2',
      'c_seconds_bucket{name="x",le="+Inf"} 3',
      'c_seconds_sum{name="x"} 5.55',
      'c_seconds_count{name="x"} 3',
      '',
    ].join('\n'),
  )
})

test('the conventional names are there with the conventional labels, and every sample line is well formed', () => {
  const metrics = createControllerMetrics()
  metrics.watchSources(
    () => new Map([['ingresses', {state: 'synced', everSynced: true, since: 0, lastSeen: 2000}]]),
    () => new Map([['ingresses', 7]]),
    (monotonic) => monotonic / 1000,
  )
  const queue = metrics.queue('dns')
  queue.onMark?.()
  queue.onStart?.(250)
  queue.onEnd?.(20, 'done')
  queue.onEnd?.(20, 'error')
  metrics.request.onRequest?.({method: 'GET', host: 'h', verb: 'list', code: '200', seconds: 0.1})
  metrics.reconciler('dns').onWrite?.('written')
  const text = metrics.registry.expose()
  for (const line of [
    'controller_runtime_reconcile_total{controller="dns",result="success"} 1',
    'controller_runtime_reconcile_errors_total{controller="dns"} 1',
    'workqueue_adds_total{name="dns",controller="dns"} 1',
    'rest_client_requests_total{code="200",method="GET",host="h"} 1',
    'leader_election_master_status{name="srcip-dns"} 0',
    'srcip_source_state{source="ingresses",state="synced"} 1',
    'srcip_source_state{source="ingresses",state="forbidden"} 0',
    'srcip_source_objects{source="ingresses"} 7',
    'srcip_source_last_event_timestamp_seconds{source="ingresses"} 2',
    'srcip_writes_total{output="dns",result="written"} 1',
  ]) {
    expect(text).toContain(`${line}\n`)
  }
  for (const line of text.trimEnd().split('\n')) {
    expect(line).toMatch(
      /^(# (HELP|TYPE) [a-z_0-9]+ .+|[a-z_0-9]+(\{([a-z]+="[^"]*",?)+\})? (-?[0-9.e+-]+|[+-]Inf|NaN))$/,
    )
  }
})
