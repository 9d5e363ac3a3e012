import fc from 'fast-check'
import {describe, expect, test} from 'vitest'
import {list, record} from '../../../../src/model/fields.ts'
import type {SnapshotKind} from '../../../../src/model/projection/kind.ts'
import {projectObject, snapshotKinds} from '../../../../src/model/projection/project-object.ts'
import type {Shape} from '../../../../src/model/projection/shape.ts'
import {propertySeed} from '../../../support/property-seed.ts'
import {secretForms} from './secret-forms.ts'

/** Chooses texts: one that looks like a secret, the bare secret, something harmless. */
interface Planter {
  readonly secret: string
  /** Containers run a known part, of which all arguments but secrets are kept. */
  readonly known: boolean
  looksSecret(): string
}

/** A value of everything that a shape keeps, with secrets in every text, and bare ones in every place that is not kept. */
function plant(shape: Shape, planter: Planter, depth = 0): unknown {
  if (typeof shape === 'function') return everything(planter)
  if (shape === 'scalar') return planter.looksSecret()
  if (shape === 'pairs')
    return {harmless: planter.looksSecret(), password: planter.secret, 'api-token': planter.secret, n: 1}
  if (shape === 'tree')
    return {
      a: planter.looksSecret(),
      clientSecret: planter.secret,
      list: [planter.looksSecret(), {token: planter.secret, credentials: {deep: planter.secret}}],
    }
  if (Array.isArray(shape)) return [plant(shape[0] as Shape, planter, depth + 1), planter.looksSecret()]
  const fields = shape as Readonly<Record<string, Shape>>
  return {
    unknownField: planter.secret,
    secretRef: {name: planter.secret},
    ...Object.fromEntries(Object.entries(fields).map(([name, inner]) => [name, plant(inner, planter, depth + 1)])),
  }
}

/** What the hand-written projections meet: containers, volumes, settings, chart values, conditions, annotations. */
function everything(planter: Planter): unknown {
  const {secret, known} = planter
  const args = [
    ...[`--token=${secret}`, '--password', secret, `--my-api-key=${secret}`, '-secret', secret],
    ...(known ? [] : [secret, `--unknown=${secret}`, '--unknown', secret, 'sh', '-c', `curl -H ${secret}`]),
    planter.looksSecret(),
  ]
  const container = {
    name: 'x',
    image: known ? 'registry.k8s.io/ingress-nginx/controller:v1' : 'example.org/some/database:v1',
    command: ['run', ...args],
    args,
    env: [
      {name: 'PLAIN', value: secret},
      {name: 'KONG_TRUSTED_IPS', value: planter.looksSecret()},
      {name: 'FROM', valueFrom: {secretKeyRef: {name: secret, key: secret}, configMapKeyRef: {name: 'a', key: 'b'}}},
    ],
    envFrom: [{secretRef: {name: secret}}, {configMapRef: {name: 'settings'}, prefix: planter.looksSecret()}],
    securityContext: {x: secret},
    livenessProbe: {httpGet: {httpHeaders: [{name: 'Authorization', value: secret}]}},
  }
  return {
    ...container,
    name: 'x',
    type: 'Ready',
    status: 'True',
    message: secret,
    'use-proxy-protocol': planter.looksSecret(),
    'http-snippet': secret,
    'unknown-setting': secret,
    'auth-signing-key': secret,
    Corefile: planter.looksSecret(),
    'binary.dat': secret,
    'proxy.istio.io/config': planter.looksSecret(),
    'kubectl.kubernetes.io/last-applied-configuration': secret,
    'vault.example.org/token': secret,
    configMap: {name: 'c', items: [{key: planter.looksSecret(), path: 'p', extra: secret}]},
    projected: {sources: [{secret: {name: secret}}, {serviceAccountToken: {audience: secret}}]},
    csi: {volumeAttributes: {a: secret}},
    ouroboros: {values: {password: secret, publishing: {host: planter.looksSecret(), other: secret}}},
  }
}

function objectWith(kind: SnapshotKind, planter: Planter): Record<string, unknown> {
  const [version = 'v1'] = kind.versions
  return {
    apiVersion: kind.group === '' ? version : `${kind.group}/${version}`,
    kind: kind.kind,
    metadata: {
      name: 'x',
      namespace: 'demo',
      labels: {app: planter.looksSecret(), password: planter.secret},
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({data: {password: planter.secret}}),
        'example.org/whatever': planter.secret,
        'service.beta.kubernetes.io/aws-load-balancer-proxy-protocol': planter.looksSecret(),
        'service.beta.kubernetes.io/x-access-key': planter.secret,
        'nginx.ingress.kubernetes.io/auth-url': planter.looksSecret(),
        'nginx.ingress.kubernetes.io/configuration-snippet': planter.secret,
        'srcip.dev/feeds': planter.looksSecret(),
      },
      finalizers: [planter.secret],
      managedFields: [
        {
          manager: 'kubectl',
          operation: 'Update',
          fieldsV1: {
            'f:data': {'f:x': {}},
            'f:spec': {[`v:"${planter.secret}"`]: {}, [`k:{"name":"${planter.secret}"}`]: {}},
          },
        },
      ],
      ownerReferences: [{apiVersion: 'v1', kind: 'X', name: 'y', uid: 'u', extra: planter.secret}],
      unknown: planter.secret,
    },
    ...(plant(kind.fields, planter) as object),
    // A Service's own and a Secret's fields, whatever the kind.
    stringData: {x: planter.secret},
    unknown: {x: planter.secret},
  }
}

describe('no planted secret gets out', () => {
  test.each(snapshotKinds.map((kind) => [`${kind.kind}.${kind.group}`, kind] as const))('%s', (_, kind) => {
    const secrets = fc.stringMatching(/^[A-Za-z0-9]{12,24}$/).map((text) => `Zq${text}`)
    fc.assert(
      fc.property(secrets, fc.boolean(), fc.infiniteStream(fc.nat(1000)), (secret, known, stream) => {
        const forms = secretForms(secret)
        const planter = {secret, known, looksSecret: () => forms[Number(stream.next().value) % forms.length] as string}
        const object = objectWith(kind, planter)
        expect(JSON.stringify(object)).toContain(secret)
        const projected = projectObject(kind, object)
        expect(projected?.metadata.name).toBe('x')
        expect(JSON.stringify(projected)).not.toContain(secret)
      }),
      {seed: propertySeed, numRuns: 40},
    )
  })
})

test('a known part keeps its arguments, but for secrets; of any other the flags stay', () => {
  const pod = snapshotKinds.find(({kind}) => kind === 'Pod') as SnapshotKind
  const container = (image: string): unknown => ({
    name: 'c',
    image,
    command: ['/app', 'serve'],
    args: [
      '--configmap=a/b',
      '--listen=:8080',
      '--token=x',
      '--password',
      'x',
      '--verbose',
      '--level',
      'debug',
      '--ok=true',
    ],
    env: [
      {name: 'MODE', value: 'x'},
      {name: 'SWITCH', value: 'true'},
      {name: 'KONG_PROXY_LISTEN', value: '0.0.0.0:80 proxy_protocol'},
    ],
  })
  const of = (image: string): unknown => {
    const projected = projectObject(pod, {metadata: {name: 'p'}, spec: {containers: [container(image)]}})
    return list(record(projected?.['spec'])['containers'])[0]
  }
  expect(of('registry.k8s.io/ingress-nginx/controller:v1.12.1')).toMatchObject({
    command: ['/app', 'serve'],
    args: [
      '--configmap=a/b',
      '--listen=:8080',
      '--token=<masked>',
      '--password',
      '<masked>',
      '--verbose',
      '--level',
      'debug',
      '--ok=true',
    ],
    env: [
      {name: 'MODE', valueFrom: {notRead: true}},
      {name: 'SWITCH', value: 'true'},
      {name: 'KONG_PROXY_LISTEN', value: '0.0.0.0:80 proxy_protocol'},
    ],
  })
  expect(of('example.org/team/postgres:17')).toMatchObject({
    command: ['/app', '<masked>'],
    args: [
      '--configmap=a/b',
      '--listen=<masked>',
      '--token=<masked>',
      '--password',
      '<masked>',
      '--verbose',
      '--level',
      '<masked>',
      '--ok=true',
    ],
    env: [{name: 'MODE', valueFrom: {notRead: true}}, {name: 'SWITCH', valueFrom: {notRead: true}}, {}],
  })
})
