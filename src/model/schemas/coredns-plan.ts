import Type from 'typebox'
import {closed, count, documentSchema, listOf} from './frame.ts'

/** A text that the plan was made from: a ConfigMap key, or a file. */
export const sourceSchema = closed({
  object: Type.Optional(Type.String({description: '`configmap/NAMESPACE/NAME`; absent for a file.'})),
  file: Type.Optional(Type.String({description: 'Path as given, `-` for stdin; absent for a ConfigMap.'})),
  key: Type.String(),
  resourceVersion: Type.Optional(Type.String()),
})

/** A proxy Service that hosts are pointed at. */
export const targetSchema = closed({
  name: Type.String({description: '`NAMESPACE/NAME`, or the FQDN where no cluster was asked.'}),
  fqdn: Type.String(),
  checked: Type.Boolean({description: 'The Service was read and is fit.'}),
  addresses: listOf(Type.String()),
})

export const hostSchema = closed({
  name: Type.String(),
  kind: Type.Enum(['exact', 'wildcard-one-label', 'wildcard-any-depth']),
  target: Type.String(),
  form: Type.Enum(['exact', 'packed', 'wildcard'], {
    description: 'A line of its own, an alternation shared with others, or an anchored pattern.',
  }),
  block: closed({keys: listOf(Type.String()), line: count}),
})

export const refusalSchema = closed({
  name: Type.String({description: '`*` where the whole text is refused.'}),
  code: Type.String({description: 'From the closed list of docs/refusals.md.'}),
  reason: Type.String(),
  line: Type.Optional(count),
  remedy: Type.String(),
})

/** At byte `offset` of the value of `key` in `source`, the bytes `removed` are replaced by `inserted`. */
export const editSchema = closed({
  source: Type.String(),
  key: Type.String(),
  offset: count,
  removed: Type.String(),
  inserted: Type.String(),
})

export const hashSchema = closed({
  sha512: Type.Union([Type.String(), Type.Null()], {description: 'Reload hash of the text after the change.'}),
  unknown: listOf(Type.String({description: 'What the hash depends on and could not be seen.'})),
})

export const versionAssumed = Type.Optional(
  Type.Boolean({description: 'True where nothing tells the release, so that this one was taken (--coredns-version).'}),
)

/** What `coredns plan` prints, and what `apply` and `clean` act on. */
export const corednsPlanSchema = documentSchema('coredns-plan', 'CorednsPlan', {
  sources: listOf(sourceSchema),
  targets: listOf(targetSchema),
  coredns: closed({version: Type.String(), versionAssumed, clusterDomain: Type.String()}),
  hosts: listOf(hostSchema),
  refused: listOf(refusalSchema),
  edits: listOf(editSchema),
  hash: hashSchema,
})
