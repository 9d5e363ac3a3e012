import Type from 'typebox'
import {closed, count, documentSchema, listOf} from './frame.ts'

/** A value of a field; that the field is not there is a value, too. */
const fieldValue = Type.Union([closed({absent: Type.Literal(true)}), closed({value: Type.Unknown()})])

const objectRef = closed({
  group: Type.String({description: 'API group; empty for the core group.'}),
  version: Type.String(),
  plural: Type.String(),
  kind: Type.String(),
  namespace: Type.Optional(Type.String()),
  name: Type.String(),
})

const field = closed({
  path: Type.Array(Type.String(), {minItems: 1, description: 'Names of fields from the root of the object on.'}),
  before: fieldValue,
  after: fieldValue,
})

const dnsRules = closed({
  owner: Type.Enum(['srcip', 'ouroboros']),
  hosts: listOf(
    closed({name: Type.String(), target: Type.String({description: 'NAMESPACE/NAME of a proxy Service.'})}),
  ),
})

/** What a step does: a closed set, so that every step can be shown, proved and taken back by the same code. */
const operation = Type.Union([
  closed({op: Type.Literal('none')}),
  closed({
    op: Type.Literal('patch'),
    object: objectRef,
    uid: Type.String({description: 'The object that was looked at; another of the same name is refused.'}),
    fields: Type.Array(field, {minItems: 1}),
  }),
  closed({
    op: Type.Literal('apply'),
    manifests: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      description: 'Objects that are wholly ours, in the order they are applied.',
    }),
    previous: Type.Optional(
      Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description: 'The same objects as an earlier step has applied them; absent: they were not there.',
      }),
    ),
  }),
  closed({
    op: Type.Literal('delete'),
    objects: listOf(closed({object: objectRef, uid: Type.Optional(Type.String())})),
    manifests: Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      description: 'What brings objects of ours back; empty where nothing can.',
    }),
  }),
  closed({op: Type.Literal('dns'), before: dnsRules, after: dnsRules}),
])

/** What is asked until it holds: each kind has one reader in the adapter. */
const proof = Type.Object(
  {
    proof: Type.String({description: 'Name of the reader.'}),
    title: Type.String({description: 'What holds when it is proved, in words.'}),
  },
  {additionalProperties: true},
)

const step = closed({
  id: Type.String(),
  title: Type.String(),
  action: Type.Enum(['create', 'update', 'delete', 'wait', 'manual']),
  operation,
  /** All must hold before the step counts as done. */
  proofs: listOf(proof),
  limitSeconds: count,
  /** Of a manual step: what a person has to do, line by line. */
  instructions: listOf(Type.String()),
  risk: Type.Optional(Type.String()),
  reversible: Type.Boolean(),
  onFailure: Type.Enum(['stop', 'undo'], {
    description: 'undo: what the step wrote is put back when its proof fails.',
  }),
  undo: Type.Optional(
    closed({
      title: Type.String(),
      proofs: listOf(proof),
      limitSeconds: count,
      instructions: listOf(Type.String()),
    }),
  ),
})

const cut = closed({
  side: Type.Enum(['outside', 'inside']),
  port: count,
  from: Type.String({description: 'Step with which it begins.'}),
  until: Type.String({description: 'Step with whose end it ends.'}),
  why: Type.String(),
  seconds: Type.Optional(Type.Integer({minimum: 0, description: 'How long at most, where that can be said.'})),
})

const order = closed({
  name: Type.String(),
  chosen: Type.Boolean(),
  why: Type.String(),
  cuts: listOf(cut),
})

/** An ordered change of a cluster, before it is made (design.md 3). */
export const planSchema = documentSchema('plan', 'Plan', {
  operation: Type.Enum(['enable', 'disable']),
  platform: Type.Enum(['generic', 'cozystack-host', 'cozystack-tenant']),
  scope: closed({
    /** Where the lock and the record of the run lie. */
    namespace: Type.String(),
    subject: Type.String({description: 'What is switched: a Service, a platform, a tenant.'}),
  }),
  cluster: closed({uid: Type.String({description: 'uid of the namespace kube-system.'})}),
  toolVersion: Type.String(),
  inputs: Type.Record(Type.String(), Type.String(), {description: 'Flags that shaped the plan.'}),
  orders: listOf(order),
  steps: listOf(step),
  hash: Type.String({description: 'sha256 over the canonical JSON of the plan without this field.'}),
})
