import Type from 'typebox'
import {closed, documentSchema, listOf} from './frame.ts'

/**
 * How far one kind was read. `complete` and `absent` (the API serves no such kind) are knowledge; with the others an
 * object that is not in the snapshot may still be in the cluster.
 */
const readingSchema = closed({
  group: Type.String({description: 'Empty for the core group.'}),
  version: Type.String(),
  resource: Type.String({description: 'Plural, as in RBAC rules.'}),
  kind: Type.String(),
  namespace: Type.Optional(Type.String({description: 'Absent: the whole cluster.'})),
  names: Type.Optional(listOf(Type.String({description: 'Only these were asked for, by name.'}))),
  only: Type.Optional(
    Type.String({description: 'Which objects were kept of what was read, in words. Absent: all of them.'}),
  ),
  verb: Type.Union([Type.Literal('list'), Type.Literal('get')]),
  state: Type.Union([
    Type.Literal('complete'),
    Type.Literal('absent'),
    Type.Literal('denied'),
    Type.Literal('partial'),
    Type.Literal('unreachable'),
  ]),
  message: Type.Optional(Type.String({description: 'What the server said, when not complete.'})),
})

/** Everything that was read in one pass, projected to the fields that are used (design.md 3). No Secret, ever. */
export const snapshotSchema = documentSchema('snapshot', 'Snapshot', {
  format: Type.Integer({
    minimum: 1,
    description: 'Grows when a reader of an older version would misread the document.',
  }),
  source: Type.Union([Type.Literal('cluster'), Type.Literal('files')]),
  anonymised: Type.Boolean(),
  cluster: closed({
    version: Type.Optional(Type.String({description: 'gitVersion of the API server.'})),
    uid: Type.Optional(Type.String({description: 'uid of the namespace kube-system.'})),
  }),
  readings: listOf(readingSchema),
  objects: listOf(
    Type.Unknown({description: 'Projected Kubernetes objects, each with apiVersion, kind and metadata.'}),
  ),
})
