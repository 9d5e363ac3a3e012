/** Names one Kubernetes object; `namespace` is absent for cluster-scoped kinds. */
export interface ObjectRef {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string
  readonly name: string
}

/** The metadata fields that this product reads. resourceVersion is opaque text (KEP-5504 allows comparing, never Number()). */
export interface ObjectMeta {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly {
    readonly kind: string
    readonly name: string
    readonly uid: string
    readonly controller?: boolean
  }[]
  readonly managedFields?: readonly ManagedFieldsEntry[]
}

export interface ManagedFieldsEntry {
  readonly manager?: string
  readonly operation?: string
  readonly subresource?: string
  readonly time?: string
  readonly fieldsV1?: unknown
}

/** Any object as the API returns it, before projection. */
export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
  readonly [field: string]: unknown
}

/** `kind/namespace/name` in kubectl's lower-case form, for messages and the `object` of errors. */
export function refText(ref: {kind: string; namespace?: string | undefined; name: string}): string {
  const kind = ref.kind.toLowerCase()
  return ref.namespace === undefined || ref.namespace === ''
    ? `${kind}/${ref.name}`
    : `${kind}/${ref.namespace}/${ref.name}`
}
