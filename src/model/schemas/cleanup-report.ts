import Type from 'typebox'

const object = Type.Object(
  {
    object: Type.String({description: '`kind/namespace/name`, without the namespace where the kind has none.'}),
    state: Type.Enum(['planned', 'deleted', 'gone', 'left'], {
      description: 'gone: somebody else was faster. left: it could not be deleted, see reason.',
    }),
    reason: Type.Optional(Type.String()),
  },
  {additionalProperties: false},
)

const pod = Type.Object(
  {
    namespace: Type.String(),
    name: Type.String(),
    verdict: Type.Enum(['done', 'failed', 'unconfirmed']),
    reason: Type.Optional(Type.String()),
    afterMs: Type.Optional(Type.Number()),
  },
  {additionalProperties: false},
)

/** What `cleanup` prints (docs/cleanup.md). */
export const cleanupReportSchema = Type.Object(
  {
    apiVersion: Type.Literal('srcip.dev/v1alpha1'),
    kind: Type.Literal('CleanupReport'),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    dryRun: Type.Enum(['none', 'client', 'server']),
    outcome: Type.Enum(['already-clean', 'planned', 'clean', 'unproved', 'undone', 'refused', 'left'], {
      description:
        'clean: nothing of ours was found afterwards. unproved: lines are out, not every CoreDNS pod could be asked. undone: a CoreDNS pod did not take the change, which was put back. left: something could not be deleted.',
    }),
    stopped: Type.Array(Type.String(), {description: 'Controller Deployments that were scaled to 0.'}),
    dns: Type.Object(
      {
        outcome: Type.Enum(['already-so', 'planned', 'proved', 'unproved', 'undone', 'left', 'refused']),
        sources: Type.Array(Type.String(), {description: 'ConfigMaps that lines are taken out of.'}),
        lines: Type.Integer({minimum: 0, description: 'Lines taken out, markers included.'}),
        pods: Type.Array(pod),
      },
      {additionalProperties: false},
    ),
    objects: Type.Array(object),
    exitCode: Type.Integer(),
    changed: Type.Boolean(),
    warnings: Type.Array(Type.String()),
  },
  {$id: 'https://srcip.dev/schemas/cleanup-report', additionalProperties: false},
)
