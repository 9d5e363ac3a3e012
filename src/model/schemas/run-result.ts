import Type from 'typebox'
import {closed, documentSchema, listOf} from './frame.ts'

const step = closed({
  id: Type.String(),
  title: Type.String(),
  state: Type.Enum(['pending', 'already-so', 'done', 'waiting', 'failed', 'undone', 'left'], {
    description: 'waiting: a person has to do something. left: it failed and what it wrote could not be put back.',
  }),
  changed: Type.Boolean(),
  evidence: listOf(Type.String()),
})

/** What `enable`, `disable`, `resume` and `rollback` print. */
export const runResultSchema = documentSchema('run-result', 'RunResult', {
  operation: Type.Enum(['enable', 'disable']),
  platform: Type.Enum(['generic', 'cozystack-host', 'cozystack-tenant']),
  direction: Type.Enum(['forward', 'back'], {description: 'back: a rollback.'}),
  dryRun: Type.Enum(['none', 'client', 'server']),
  run: Type.Optional(Type.String({description: 'Id of the run; absent when nothing was written.'})),
  outcome: Type.Enum([
    'already-so',
    'not-needed',
    'planned',
    'done',
    'waiting',
    'undone',
    'failed',
    'interrupted',
    'rolled-back',
  ]),
  reason: Type.Optional(Type.String()),
  steps: listOf(step),
  next: listOf(Type.String()),
})

/** One line of `runs`. */
const run = closed({
  id: Type.String(),
  namespace: Type.String(),
  operation: Type.Enum(['enable', 'disable']),
  platform: Type.Enum(['generic', 'cozystack-host', 'cozystack-tenant']),
  subject: Type.String(),
  status: Type.Enum(['running', 'waiting', 'failed', 'done', 'rolling-back', 'rolled-back']),
  step: Type.String({description: 'The step it stands at; empty when it is over.'}),
  started: Type.String(),
  by: Type.String(),
})

/** What `runs` prints. */
export const runListSchema = documentSchema('run-list', 'RunList', {runs: listOf(run)})
