import {forOutside} from '../remedies/for-outside.ts'
import type {Check} from './check.ts'
import {eachWay, evidenceOf} from './of-ways.ts'

export const passthroughLoopback: Check = {
  id: 'SRC025',
  name: 'passthrough-loopback',
  cures: true,
  severity: 'error',
  means:
    'With --enable-ssl-passthrough and without PROXY, ingress-nginx hands every HTTPS connection to itself from 127.0.0.1. That is a loop in the controller, no translation of the network.',
  act: 'Run passthrough in a second controller, or put a sender of PROXY in front and switch PROXY on; without a sender port 80 would fail.',
  sources: ['https://github.com/kubernetes/ingress-nginx/blob/dbb11b92d/pkg/tcpproxy/tcp.go'],
  run: (diagnosis) =>
    eachWay(diagnosis, (way) => {
      if (way.facts.state?.loopback !== true) return undefined
      const lost = way.outside.cause === 'loopback'
      return {
        title: way.facts.state.notes[0] ?? 'nginx sees 127.0.0.1',
        severity: lost ? 'error' : 'warning',
        evidence: evidenceOf(way.facts),
        remedies: forOutside({...way, outside: {...way.outside, cause: 'loopback'}}),
      }
    }),
}
