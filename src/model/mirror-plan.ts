import Type, {type Static} from 'typebox'

/** `kind: MirrorPlan`, the lock file of `mirror`: what is carried, by digest. Knows nothing of a target and holds no secret. */

const digest = Type.String({pattern: '^(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})$'})
const bytes = Type.Integer({minimum: 0})

export const extraSchema = Type.Object(
  {
    kind: Type.Enum(['signature', 'attestation', 'sbom', 'referrer']),
    /** Digest that it is attached to. */
    subject: digest,
    digest,
    mediaType: Type.String(),
    artifactType: Type.Optional(Type.String()),
    /** `sha256-….sig` and its like; absent for a referrer, which is found by its subject. */
    tag: Type.Optional(Type.String()),
    size: bytes,
  },
  {additionalProperties: false},
)

export const planItemSchema = Type.Object(
  {
    role: Type.Enum(['image', 'chart', 'artifact']),
    /** `host/path` that it comes from and that manifests and values name. */
    source: Type.String(),
    tag: Type.Optional(Type.String()),
    digest,
    mediaType: Type.String(),
    /** Bytes of everything below it, each digest once. */
    size: bytes,
    platforms: Type.Array(Type.Object({platform: Type.String(), digest}, {additionalProperties: false})),
    /** Set where one platform was chosen: the index that its digest comes from. */
    index: Type.Optional(digest),
    extras: Type.Array(extraSchema),
    /** Where it was found: file and path of the value, manifest, flag. */
    foundIn: Type.Array(Type.String()),
    notes: Type.Array(Type.String()),
  },
  {additionalProperties: false},
)

export const mirrorPlanSchema = Type.Object(
  {
    apiVersion: Type.Literal('srcip.dev/v1alpha1'),
    kind: Type.Literal('MirrorPlan'),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    items: Type.Array(planItemSchema),
    exitCode: Type.Integer(),
    changed: Type.Boolean(),
    warnings: Type.Array(Type.String()),
  },
  {additionalProperties: false},
)

export type PlanExtra = Static<typeof extraSchema>
export type PlanItem = Static<typeof planItemSchema>
export type MirrorPlan = Static<typeof mirrorPlanSchema>
