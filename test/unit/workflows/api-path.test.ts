import {expect, test} from 'vitest'
import {goesThroughIngress} from '../../../src/workflows/generic/api-path.ts'

const pair = {hosts: ['k8s.example.org', 'example.net'], addresses: ['192.0.2.10', '2001:db8::10']}

test.each([
  ['a name that the ingress serves', 'https://K8S.example.org:6443', [], true],
  ['api. before one', 'https://api.example.net', [], true],
  ['the address of the balancer', 'https://192.0.2.10:6443', [], true],
  ['the same for IPv6', 'https://[2001:db8::10]:6443', [], true],
  ['a name that resolves to it', 'https://kube.internal:6443', ['192.0.2.10'], true],
  ['a name of its own', 'https://kube.internal:6443', ['198.51.100.1'], false],
  ['a name that only ends like one', 'https://notexample.net', [], false],
])('%s', (_, server, resolved, wanted) => expect(goesThroughIngress(server, resolved, pair)).toBe(wanted))
