import Type from 'typebox'
import {closed, documentSchema, listOf} from './frame.ts'

/** What `verify outside` and `verify inside` print: one row a question that was put to the real thing. */
export const verifyReportSchema = documentSchema('verify-report', 'VerifyReport', {
  checks: listOf(
    closed({
      check: Type.Union([
        Type.Literal('reachable'),
        Type.Literal('address'),
        Type.Literal('forged-x-forwarded-for'),
        Type.Literal('forged-x-real-ip'),
        Type.Literal('forged-forwarded'),
        Type.Literal('forged-proxy-header'),
        Type.Literal('must-refuse'),
        Type.Literal('dns'),
        Type.Literal('connection'),
      ]),
      subject: Type.String({description: 'The address, node or pod that was asked.'}),
      verdict: Type.Union([Type.Literal('held'), Type.Literal('failed'), Type.Literal('unknown')]),
      seen: Type.Optional(Type.String()),
      wanted: Type.Optional(Type.String()),
      why: Type.String({description: 'One sentence.'}),
    }),
  ),
})
