import Type from 'typebox'
import {hashSchema, sourceSchema, versionAssumed} from './coredns-plan.ts'
import {closed, count, documentSchema, listOf} from './frame.ts'

const text = Type.String()

export const rewriteSchema = closed({
  file: text,
  line: count,
  text,
  owner: Type.Enum(['srcip', 'ouroboros', 'other']),
})

export const blockSchema = closed({
  keys: listOf(text),
  file: Type.String({description: 'Empty for the Corefile itself, else the imported file the block stands in.'}),
  line: count,
  plugins: Type.Array(text, {description: 'In the order in which CoreDNS runs them.'}),
  imports: listOf(text),
  rewrites: Type.Array(rewriteSchema, {description: 'In the order in which they are tried.'}),
})

/** What `coredns show` prints. */
export const corednsShowSchema = documentSchema('coredns-show', 'CorednsShow', {
  sources: listOf(sourceSchema),
  coredns: closed({version: text, versionAssumed, clusterDomain: text, image: Type.Optional(text), corefile: text}),
  reload: Type.Boolean(),
  hash: hashSchema,
  blocks: listOf(blockSchema),
  service: Type.Optional(Type.String({description: 'Only on a cluster.'})),
  owner: Type.Optional(closed({title: text, evidence: listOf(text), lasts: text})),
  nodeLocalDns: Type.Optional(closed({daemonSet: text, addresses: listOf(text)})),
  pods: Type.Optional(listOf(closed({name: text, counting: Type.Boolean(), reason: Type.Optional(text)}))),
})

export const podAnswerSchema = closed({
  pod: text,
  rcode: Type.Optional(text),
  answers: listOf(text),
  error: Type.Optional(Type.String({description: 'Why there is no answer.'})),
})

/** What `coredns query` prints: the simulation and, on a cluster, every pod's own answer. */
export const corednsQuerySchema = documentSchema('coredns-query', 'CorednsQuery', {
  name: text,
  type: text,
  simulated: closed({
    block: Type.Optional(closed({keys: listOf(text), line: count})),
    rules: listOf(closed({line: count, file: text, text, outcome: text})),
    seen: Type.Optional(Type.String({description: 'The name as the plugins behind rewrite see it.'})),
    answeredBy: Type.Optional(closed({plugin: text, line: count, why: text})),
    rcode: Type.Optional(text),
    answers: listOf(text),
    unknown: Type.Optional(Type.String({description: 'Why no reply could be told.'})),
    notes: listOf(text),
  }),
  pods: listOf(podAnswerSchema),
})

export const findingSchema = closed({
  id: Type.String({pattern: '^CF\\d{3}$'}),
  severity: Type.Enum(['error', 'warning', 'info']),
  title: text,
  file: Type.String({description: 'Empty for the Corefile itself, else the imported file.'}),
  line: Type.Integer({minimum: 0, description: '1-based; 0 where the whole file is meant.'}),
  column: Type.Integer({minimum: 0, description: '1-based, in characters; 0 where only the line is known.'}),
  message: text,
  remedy: text,
})

/** What `coredns lint` prints; exit code 22 when a finding is an error. */
export const corednsLintSchema = documentSchema('coredns-lint', 'CorednsLint', {
  sources: listOf(sourceSchema),
  coredns: closed({version: text, versionAssumed}),
  findings: listOf(findingSchema),
})
