import Type from 'typebox'
import {corednsPlanSchema} from './coredns-plan.ts'
import {closed, documentSchema, listOf} from './frame.ts'

/** What one pod has shown after a write. */
export const podProofSchema = closed({
  namespace: Type.String(),
  name: Type.String(),
  verdict: Type.Enum(['done', 'failed', 'unconfirmed']),
  reason: Type.Optional(
    Type.String({description: 'Why it is not done: the log line, the wrong answer, or why it could not be asked.'}),
  ),
  afterMs: Type.Optional(Type.Number({description: 'Milliseconds from the write to the proof; only for `done`.'})),
})

/** What `coredns apply` and `coredns clean` print when they worked on a cluster. */
export const corednsResultSchema = documentSchema('coredns-result', 'CorednsResult', {
  operation: Type.Enum(['apply', 'clean', 'adopt']),
  dryRun: Type.Enum(['none', 'client', 'server']),
  plan: corednsPlanSchema,
  outcome: Type.Enum(['already-so', 'planned', 'proved', 'unproved', 'undone', 'left', 'refused'], {
    description:
      'proved: every pod answers so. unproved: written, not all pods could be asked. undone: put back. left: failed and not put back.',
  }),
  pods: listOf(podProofSchema),
})
