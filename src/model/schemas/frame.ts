import Type, {type TProperties, type TSchema} from 'typebox'

/** Integer from 0 on. */
export const count = Type.Integer({minimum: 0})

/** A closed object: a field that is not named here is an error. */
export function closed<P extends TProperties>(properties: P) {
  return Type.Object(properties, {additionalProperties: false})
}

export function listOf<S extends TSchema>(items: S) {
  return Type.Array(items)
}

/**
 * The frame of every document (design.md 3) around its payload. `name` is the file in schemas/ and the end of the `$id`.
 */
export function documentSchema<const K extends string, P extends TProperties>(name: string, kind: K, payload: P) {
  return Type.Object(
    {
      apiVersion: Type.Literal('srcip.dev/v1alpha1'),
      kind: Type.Literal(kind),
      metadata: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
      ...payload,
      exitCode: Type.Integer({description: 'docs/exit-codes.md; the exit code of the process says the same.'}),
      changed: Type.Boolean(),
      warnings: Type.Array(Type.String()),
    },
    {$id: `https://srcip.dev/schemas/${name}`, additionalProperties: false},
  )
}
