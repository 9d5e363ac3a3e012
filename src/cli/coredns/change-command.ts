import {replaceFile} from '../../cluster-dns/corefile-file.ts'
import type {CorednsPlan, CorednsResult, CorednsTextChange} from '../../model/coredns-plan.ts'
import {exitCodes, SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import {textDiff} from '../../present/coredns-plan.ts'
import {changeDns} from '../../workflows/coredns/change-dns.ts'
import type {KubeClient} from '../../kube/index.ts'
import {confirm} from '../terminal.ts'
import {adoptionOf, type CorednsOperation} from './adopt.ts'
import {clusterPorts} from './ports.ts'
import {corednsVersion, planOnFile, wantedOfCluster, type PlanFlagValues} from './request.ts'

/** Flags of `apply` and `clean`. */
export interface ChangeFlagValues extends PlanFlagValues {
  readonly 'dns-service'?: string | undefined
  readonly via: 'auto' | 'api' | 'direct'
  readonly 'verify-timeout'?: number | undefined
  readonly 'in-place'?: boolean
  readonly 'dry-run': 'none' | 'client' | 'server'
  readonly yes: boolean
  readonly output?: string | undefined
}

/** What became of a Corefile given with -f; `bytes` go to stdout unless they went into the file. */
export interface FileChangeResult {
  readonly document: CorednsPlan
  readonly texts: readonly CorednsTextChange[]
  readonly bytes: Uint8Array | undefined
}

/**
 * `apply` or `clean` on a file. A refusal of everything leaves stdout empty and the file alone. A repair guesses what damaged markers
 * once meant, so that its diff is shown, and asked about before it replaces a file.
 */
export async function changeFile(
  operation: CorednsOperation,
  flags: ChangeFlagValues,
  {sayDiff, color}: Pick<ClusterChangeOptions, 'sayDiff' | 'color'>,
): Promise<FileChangeResult> {
  const {state, planned} = await planOnFile(operation, flags)
  const {document, corefile, texts} = planned
  if (corefile === undefined) return {document, texts, bytes: undefined}
  const isRepair = flags.repair === true && document.changed
  if (isRepair && flags.output !== 'diff') sayDiff(textDiff(texts, color).trimEnd())
  if (flags['in-place'] !== true) return {document, texts, bytes: corefile}
  if (!document.changed || flags['dry-run'] !== 'none') return {document, texts, bytes: undefined}
  if (isRepair && !(await confirm(`write this to ${state.corefile.key}?`, flags))) {
    throw new SrcipError('Usage', 'nothing was written: the repair was not confirmed', {object: state.corefile.key})
  }
  await replaceFile(state.corefile.key, corefile)
  return {document, texts, bytes: undefined}
}

export interface ClusterChangeOptions {
  readonly operation: CorednsOperation
  readonly client: KubeClient
  readonly flags: ChangeFlagValues
  readonly signal: AbortSignal
  readonly onEvent: EventSink
  readonly say: (line: string) => void
  /** Prints a diff, which is safe for a terminal and may be coloured. */
  readonly sayDiff: (text: string) => void
  readonly color: boolean
  /** Runs after the person has agreed and before the write. */
  readonly beforeWrite?: () => Promise<void>
}

/** `apply` or `clean` on a cluster: plan, diff, confirm, write, prove, undo. */
export async function changeCluster(
  options: ClusterChangeOptions,
): Promise<{result: CorednsResult; texts: readonly CorednsTextChange[]}> {
  const {operation, client, flags, signal, onEvent} = options
  let texts: readonly CorednsTextChange[] = []
  const ports = clusterPorts({
    client,
    wanted: (inner) => wantedOfCluster(operation, client, flags, inner),
    complete: adoptionOf(operation, flags),
    dnsService: flags['dns-service'],
    version: corednsVersion(flags),
    via: flags.via,
    verifyTimeoutMs: flags['verify-timeout'] ?? 180_000,
    restart: flags['restart-coredns'] === true,
    onEvent,
  })
  const result = await changeDns(
    {
      ...ports,
      async load(inner) {
        const state = await ports.load(inner)
        texts = state.planned.texts
        return state
      },
    },
    {
      operation,
      dryRun: flags['dry-run'],
      signal,
      onEvent,
      approve: async (plan) => {
        options.sayDiff(textDiff(texts, options.color).trimEnd())
        for (const line of whereLines(client, plan)) options.say(line)
        if (!(await confirm(`write this to cluster DNS?`, flags))) return false
        await options.beforeWrite?.()
        return true
      },
    },
  )
  return {result, texts}
}

/** Every write says first where it goes (style: context, cluster, namespace). */
function whereLines(client: KubeClient, plan: CorednsPlan): string[] {
  const {context, server} = client.config
  const objects = [...new Set(plan.edits.map((edit) => edit.source))]
  return [`context ${context ?? '(none)'}, server ${server}, ${objects.join(', ')}`]
}

/** True where the result is the file itself and nothing else may stand on stdout. */
export function printsFile(flags: {
  readonly filename?: string | undefined
  readonly output?: string | undefined
  readonly jq?: string | undefined
}): boolean {
  return flags.filename !== undefined && flags.output === undefined && flags.jq === undefined
}

/** Exit code of a file change: the plan's, or 20 for a change under --detailed-exitcode. */
export function fileExitCode(document: CorednsPlan, detailed: boolean): number {
  return detailed && document.exitCode === exitCodes.Ok && document.changed ? exitCodes.Changed : document.exitCode
}
