import Type from 'typebox'
import {documentSchema, listOf} from './frame.ts'

/** What stdout gets instead of a result when a command fails with `-o json|yaml`. */
export const errorSchema = documentSchema('error', 'Error', {
  code: Type.String({description: 'Name of the exit code, such as Usage or Precondition.'}),
  message: Type.String(),
  object: Type.Optional(Type.String({description: '`kind/namespace/name` of the object concerned, or a file name.'})),
  hints: listOf(Type.String({description: 'What to type or do next.'})),
})
