import Type from 'typebox'
import {closed, documentSchema, listOf} from './frame.ts'

const verdictWord = Type.Union([
  Type.Literal('broken'),
  Type.Literal('half-broken'),
  Type.Literal('fine'),
  Type.Literal('not-needed'),
  Type.Literal('depends'),
  Type.Literal('unknown'),
])

/** How well a statement about somebody else's software is founded; an unconfirmed one is never the ground for `not-needed` or a write. */
const gradeWord = Type.Union([Type.Literal('source'), Type.Literal('inferred'), Type.Literal('unconfirmed')])

const fieldSchema = closed({
  object: Type.String({description: 'kind/namespace/name'}),
  field: Type.Optional(Type.String({description: 'Path inside the object, as in kubectl explain.'})),
  value: Type.Optional(Type.String({description: 'What stands there; never a secret.'})),
})

const verdictSchema = closed({
  verdict: verdictWord,
  why: Type.String({description: 'One sentence.'}),
  grade: gradeWord,
  check: Type.Optional(
    Type.String({description: 'What would settle an unconfirmed or unknown verdict: a command or a look.'}),
  ),
  sources: listOf(Type.String({description: 'Where the rule is written.'})),
})

const hopSchema = closed({
  at: Type.Union([
    Type.Literal('client'),
    Type.Literal('balancer'),
    Type.Literal('node'),
    Type.Literal('service-proxy'),
    Type.Literal('receiver'),
    Type.Literal('application'),
  ]),
  name: Type.String({description: 'What stands there: aws-nlb, kube-proxy, ingress-nginx, a name of a workload.'}),
  source: Type.Union([
    Type.Literal('kept'),
    Type.Literal('translated'),
    Type.Literal('carried'),
    Type.Literal('unknown'),
  ]),
  how: Type.String({description: 'By which setting or rule, in a few words.'}),
  seen: Type.Optional(fieldSchema),
  grade: gradeWord,
  lost: Type.Boolean({description: 'The client address is gone behind this hop.'}),
})

const remedySchema = closed({
  id: Type.String({
    pattern: '^[A-Za-z][A-Za-z-]*$',
    description:
      'A stable word for what is to be done, such as externalTrafficPolicy-local; docs/checks.md lists them.',
  }),
  kind: Type.Union([Type.Literal('command'), Type.Literal('manifest'), Type.Literal('text')]),
  text: Type.String(),
  cost: Type.Integer({
    minimum: 0,
    description: 'Rank: 0 nothing to do, 1 a field, 2 a setting of the platform, 3 a new part to run.',
  }),
  why: Type.String(),
})

const findingSchema = closed({
  id: Type.String({pattern: '^SRC[0-9]{3}$'}),
  severity: Type.Union([Type.Literal('error'), Type.Literal('warning'), Type.Literal('info')]),
  title: Type.String(),
  object: Type.String({description: 'kind/namespace/name'}),
  path: Type.Optional(Type.String({description: 'id of the way in it belongs to.'})),
  evidence: listOf(fieldSchema),
  remedies: listOf(remedySchema),
})

const switchSchema = closed({
  for: Type.Union([Type.Literal('enable'), Type.Literal('disable')]),
  outside: verdictSchema,
  hairpin: verdictSchema,
  breaks: listOf(Type.String({description: 'What the switch would break, one sentence each.'})),
})

const pathSchema = closed({
  id: Type.String({description: 'namespace/service:port/protocol'}),
  namespace: Type.String(),
  service: Type.String(),
  port: Type.Integer(),
  protocol: Type.String(),
  addresses: listOf(Type.String({description: 'Addresses and host names that lead in.'})),
  hosts: listOf(Type.String({description: 'Names that applications are called by through this way.'})),
  platform: closed({
    balancer: Type.Optional(Type.String()),
    receiver: Type.Optional(Type.String()),
    cni: Type.Optional(Type.String()),
  }),
  hops: listOf(hopSchema),
  lostAt: Type.Optional(Type.String({description: 'The first hop that loses the address.'})),
  outside: verdictSchema,
  hairpin: verdictSchema,
  after: Type.Optional(switchSchema),
})

/** What `doctor` prints: where the client address is lost, what breaks, and the cheapest fix. */
export const doctorReportSchema = documentSchema('doctor-report', 'DoctorReport', {
  paths: listOf(pathSchema),
  findings: listOf(findingSchema),
  notSeen: listOf(
    closed({
      verb: Type.String(),
      resource: Type.String(),
      namespace: Type.Optional(Type.String()),
      reason: Type.String(),
    }),
  ),
})
