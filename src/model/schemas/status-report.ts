import Type from 'typebox'
import {closed, count, documentSchema, listOf} from './frame.ts'

/** What `status` prints: one row for each thing that has to be in step. */
export const statusReportSchema = documentSchema('status-report', 'StatusReport', {
  state: Type.Union([Type.Literal('on'), Type.Literal('off'), Type.Literal('partly')], {
    description:
      'on: names lead to a proxy and somebody keeps them; off: no trace of ours in cluster DNS and nothing runs.',
  }),
  since: Type.Optional(Type.String({description: 'Since when the present writer holds the Lease (RFC 3339).'})),
  hosts: closed({
    wanted: count,
    written: count,
    refused: count,
    excluded: Type.Integer({minimum: 0, description: 'Names left out for a reason; warnings name them.'}),
  }),
  rows: listOf(
    closed({
      row: Type.Union([
        Type.Literal('controller'),
        Type.Literal('lease'),
        Type.Literal('proxy'),
        Type.Literal('hosts'),
        Type.Literal('drift'),
        Type.Literal('coredns'),
        Type.Literal('run'),
      ]),
      object: Type.String({description: 'kind/namespace/name'}),
      state: Type.Union([
        Type.Literal('ok'),
        Type.Literal('warning'),
        Type.Literal('error'),
        Type.Literal('unknown'),
        Type.Literal('off'),
      ]),
      detail: Type.String(),
    }),
  ),
})
