/** One replacement in one key of one object: at byte `offset` the bytes `removed` are replaced by `inserted`. */
export interface DnsEdit {
  /** Which text: a ConfigMap key or a file. */
  readonly source: string
  readonly key: string
  readonly offset: number
  readonly removed: string
  readonly inserted: string
}

/** Marker lines of our block, whole lines of a Corefile (design.md 5). */
export const markers = {
  begin: '# === BEGIN srcip (managed by kubectl srcip, do not edit) ===',
  end: '# === END srcip ===',
} as const

/** Label that every object of ours carries (design.md 5, "Undone"). */
export const componentLabel = 'srcip.dev/component'

/** Lease that whoever writes cluster DNS holds, in the namespace of the DNS ConfigMap. */
export const dnsLeaseName = 'srcip-dns'

/** Lease of a workflow: one at a time for a cluster, and for each tenant (design.md 6). */
export const workflowLeaseName = 'srcip'

/** fieldManager of every write. */
export const fieldManager = 'kubectl-srcip'
