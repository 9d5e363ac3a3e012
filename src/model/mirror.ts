import type {SrcipDocument} from './documents.ts'

/** One line of the table "source digest = target digest". */
export interface MirrorItemResult {
  readonly role: 'image' | 'chart' | 'artifact'
  /** As it was asked for. */
  readonly source: string
  /** `host/path:tag` at the target. */
  readonly target: string
  readonly sourceDigest?: string
  /** Digest that the target answered with afterwards. */
  readonly targetDigest?: string
  /** Where one platform was chosen: the digest of the index that it comes from. */
  readonly indexDigest?: string
  readonly status: 'copied' | 'unchanged' | 'planned' | 'failed' | 'conflict'
  readonly size: number
  readonly extras: readonly {
    readonly kind: string
    readonly digest: string
    readonly subject: string
    readonly tag?: string
  }[]
  readonly skippedExtras: readonly {readonly name: string; readonly subject: string; readonly reason: string}[]
  readonly notes: readonly string[]
  readonly error?: {readonly code: string; readonly message: string; readonly hints: readonly string[]}
}

/** `kind: MirrorResult`: what `mirror copy` and `mirror import` did, or would do with `--dry-run`. */
export interface MirrorResult extends SrcipDocument {
  readonly kind: 'MirrorResult'
  readonly dryRun: 'none' | 'client' | 'server'
  readonly items: readonly MirrorItemResult[]
  readonly summary: {
    readonly bytesMoved: number
    readonly bytesPresent: number
    readonly blobsMoved: number
    readonly blobsPresent: number
    readonly blobsMounted: number
    readonly requests: number
    readonly seconds: number
    /** Always said: signatures are carried, nobody has checked them. */
    readonly signatures: 'copied, not verified' | 'none found' | 'not asked for'
  }
}

/** One check of `mirror verify`. */
export interface MirrorCheck {
  readonly reference: string
  readonly status: 'ok' | 'failed' | 'not checked'
  readonly digest?: string
  readonly problems: readonly string[]
  /** Manifests read and blobs asked for. */
  readonly manifests: number
  readonly blobs: number
}

/** `kind: MirrorVerification`. */
export interface MirrorVerification extends SrcipDocument {
  readonly kind: 'MirrorVerification'
  readonly items: readonly MirrorCheck[]
  readonly depth: 'manifests and presence of blobs' | 'every byte'
  readonly inCluster: {
    readonly status: 'ok' | 'failed' | 'not checked'
    readonly nodes: readonly {
      readonly node: string
      readonly runtime: string
      readonly status: string
      readonly reason?: string
    }[]
  }
}

/** `kind: MirrorArchive`: what an export wrote, or what an archive holds. */
export interface MirrorArchive extends SrcipDocument {
  readonly kind: 'MirrorArchive'
  readonly path: string
  readonly parts: readonly {readonly file: string; readonly size: number; readonly sha256: string}[]
  readonly items: readonly {
    readonly source: string
    readonly tag?: string
    readonly digest: string
    readonly role: string
    readonly size: number
    readonly extras: number
  }[]
  readonly blobs: number
  readonly size: number
  /** Set for a delta: what must have been imported before. */
  readonly base?: {readonly name: string; readonly blobs: number; readonly size: number}
  readonly problems: readonly string[]
}

/** `kind: MirrorValues`: values or node configuration that make a cluster use the mirror. */
export interface MirrorFiles extends SrcipDocument {
  readonly kind: 'MirrorValues' | 'MirrorNodeConfig'
  readonly files: readonly {readonly name: string; readonly content: string; readonly before?: string}[]
  readonly notes: readonly string[]
}
