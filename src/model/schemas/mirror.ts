import Type from 'typebox'
import {closed, count, documentSchema, listOf} from './frame.ts'

const digest = Type.String({pattern: '^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$'})
const role = Type.Enum(['image', 'chart', 'artifact'])

const planExtra = closed({
  kind: Type.Enum(['signature', 'attestation', 'sbom', 'referrer']),
  subject: Type.String({...digest, description: 'Digest that it is attached to.'}),
  digest,
  mediaType: Type.String(),
  artifactType: Type.Optional(Type.String()),
  tag: Type.Optional(
    Type.String({description: '`sha256-….sig` and its like; absent for a referrer, which is found by its subject.'}),
  ),
  size: count,
})

export const planItem = closed({
  role,
  source: Type.String({description: '`host/path` that it comes from and that manifests and values name.'}),
  tag: Type.Optional(Type.String()),
  digest,
  mediaType: Type.String(),
  size: Type.Integer({minimum: 0, description: 'Bytes of everything below it, each digest once.'}),
  platforms: listOf(closed({platform: Type.String(), digest})),
  index: Type.Optional(
    Type.String({...digest, description: 'Where one platform was chosen: the index that its digest comes from.'}),
  ),
  extras: listOf(planExtra),
  foundIn: listOf(Type.String({description: 'File and path of the value, manifest or flag that named it.'})),
  notes: listOf(Type.String()),
})

/** The lock file of `mirror`: what is carried, by digest. Knows nothing of a target and holds no secret. */
export const mirrorPlanSchema = documentSchema('mirror-plan', 'MirrorPlan', {items: listOf(planItem)})

const itemResult = closed({
  role,
  source: Type.String({description: 'As it was asked for.'}),
  target: Type.String({description: '`host/path:tag` at the target.'}),
  sourceDigest: Type.Optional(Type.String()),
  targetDigest: Type.Optional(Type.String({description: 'Digest that the target answered with afterwards.'})),
  indexDigest: Type.Optional(
    Type.String({description: 'Where one platform was chosen: the index that it comes from.'}),
  ),
  status: Type.Enum(['copied', 'unchanged', 'planned', 'failed', 'conflict']),
  size: count,
  extras: listOf(
    closed({kind: Type.String(), digest: Type.String(), subject: Type.String(), tag: Type.Optional(Type.String())}),
  ),
  skippedExtras: listOf(closed({name: Type.String(), subject: Type.String(), reason: Type.String()})),
  notes: listOf(Type.String()),
  error: Type.Optional(closed({code: Type.String(), message: Type.String(), hints: listOf(Type.String())})),
})

const quota = closed({
  host: Type.String(),
  remaining: Type.Integer({minimum: 0, description: 'Manifest reads left, as the registry says.'}),
  limit: Type.Optional(count),
  windowSeconds: Type.Optional(count),
  needed: Type.Integer({minimum: 0, description: 'Manifest reads that this copy needs there.'}),
})

/** What `mirror copy` and `mirror import` did, or would do with `--dry-run`. */
export const mirrorResultSchema = documentSchema('mirror-result', 'MirrorResult', {
  dryRun: Type.Enum(['none', 'client', 'server']),
  items: listOf(itemResult),
  quotas: Type.Optional(listOf(quota)),
  summary: closed({
    bytesMoved: count,
    bytesPresent: count,
    blobsMoved: count,
    blobsPresent: count,
    blobsMounted: count,
    requests: count,
    seconds: Type.Number(),
    signatures: Type.Enum(['copied, not verified', 'none found', 'not asked for'], {
      description: 'Signatures are carried; nobody has checked them.',
    }),
  }),
})

const check = closed({
  reference: Type.String(),
  status: Type.Enum(['ok', 'failed', 'not checked']),
  digest: Type.Optional(Type.String()),
  problems: listOf(Type.String()),
  manifests: Type.Integer({minimum: 0, description: 'Manifests read back.'}),
  blobs: Type.Integer({minimum: 0, description: 'Blobs asked for, or downloaded with --deep.'}),
})

/** What `mirror verify` found. */
export const mirrorVerificationSchema = documentSchema('mirror-verification', 'MirrorVerification', {
  items: listOf(check),
  depth: Type.Enum(['manifests and presence of blobs', 'every byte']),
  inCluster: closed({
    status: Type.Enum(['ok', 'failed', 'not checked']),
    nodes: listOf(
      closed({
        node: Type.String(),
        runtime: Type.String(),
        status: Type.String(),
        reason: Type.Optional(Type.String()),
      }),
    ),
  }),
})

/** What `mirror export` wrote, or what `mirror inspect` found in an archive. */
export const mirrorArchiveSchema = documentSchema('mirror-archive', 'MirrorArchive', {
  path: Type.String(),
  parts: listOf(closed({file: Type.String(), size: count, sha256: Type.String()})),
  items: listOf(
    closed({
      source: Type.String(),
      tag: Type.Optional(Type.String()),
      digest: Type.String(),
      role,
      size: count,
      extras: count,
    }),
  ),
  blobs: count,
  size: count,
  base: Type.Optional(
    closed({
      name: Type.String({description: 'A delta: the archive that is imported first.'}),
      blobs: Type.Integer({minimum: 0, description: 'Blobs that are only in there.'}),
      size: count,
    }),
  ),
  problems: listOf(Type.String()),
})

const files = {
  files: listOf(closed({name: Type.String(), content: Type.String(), before: Type.Optional(Type.String())})),
  notes: listOf(Type.String()),
}

/** Values that make a chart pull from the mirror. */
export const mirrorValuesSchema = documentSchema('mirror-values', 'MirrorValues', files)

/** Node configuration that makes a cluster pull from the mirror. */
export const mirrorNodeConfigSchema = documentSchema('mirror-node-config', 'MirrorNodeConfig', files)
