import type {Cell} from '../cell.ts'

/** From which versions of a data plane on something holds; `never` and `always` do not depend on it. */
export type Since =
  | 'always'
  | 'never'
  /** From `from` on, and not in the versions of `except`. */
  | {readonly from: string; readonly except?: readonly string[]}
  /** A setting decides; the reader in data-plane.ts knows which. */
  | 'setting'

/** What stands between the node's interface and the pods (platforms.md 3). */
export interface CniRow {
  readonly id: string
  readonly title: string
  /** Parts of image names of its workloads, `/` in front. */
  readonly images: readonly string[]
  /** Names of DaemonSets it is known by. */
  readonly daemonSets: readonly string[]
  /** ConfigMap that holds its settings. */
  readonly config?: {readonly namespace: string; readonly name: string}
  /** Does it replace kube-proxy? `setting`: a key decides. */
  readonly replacesKubeProxy: Cell<'yes' | 'no' | 'setting'>
  /** With it as service proxy: does ipMode Proxy keep the address out of its rules? */
  readonly honoursIpMode: Cell<Since>
  /** With it as service proxy and policy Cluster: is the source of a connection from outside kept? */
  readonly cluster: Cell<'kept' | 'translated' | 'setting'>
  /** Does it masquerade connections from outside to a pod on another node, whatever the service proxy does? */
  readonly masqueradesForwarded: Cell<boolean>
  readonly traps: readonly Cell<string>[]
}
