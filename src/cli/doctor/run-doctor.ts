import {diagnose} from '../../diagnosis/diagnose.ts'
import {apiVersion} from '../../model/documents.ts'
import {severityRank, type DoctorReport} from '../../model/doctor.ts'
import {exitCodes, SrcipError} from '../../model/errors.ts'
import {indexSnapshot, snapshotFormat, type Snapshot, type SnapshotReading} from '../../model/snapshot.ts'
import {heedSignals} from '../interrupt.ts'
import {takeSnapshot, type SnapshotContext} from '../snapshot/take-snapshot.ts'
import type {DoctorFlagValues} from './flags.ts'

/**
 * `doctor`: reads the cluster or files, and judges. `service` is the argument as typed. Throws Usage (2) for words that mean
 * nothing, Precondition (32) for a Service that is not there, Denied (31) or Unreachable (30) when nothing could be read.
 */
export async function runDoctor(
  flags: DoctorFlagValues,
  service: string | undefined,
  context: SnapshotContext & {namespace(): Promise<string>},
): Promise<DoctorReport> {
  const ignore = readIds(flags.ignore ?? [])
  const name = service === undefined ? undefined : serviceName(service)
  const snapshot = await takeSnapshot({...flags, anonymise: false, output: 'json'}, context).catch((error: unknown) => {
    if (name !== undefined || !filesSuffice(flags) || context.signal.aborted) throw error
    return withoutCluster(error)
  })
  const wanted = name === undefined ? undefined : await inNamespace(name, snapshot, flags, context)
  await heedSignals(context.signal)
  const index = indexSnapshot(snapshot)
  const report = diagnose(index, {for: flags.for, service: wanted, ignore})
  await heedSignals(context.signal)
  if (!asksForEvidence(flags)) return report
  const {readEvidence} = await import('./read-evidence.ts')
  const {findings, notSeen} = await readEvidence(flags, report, index, context)
  const kept = findings.filter(({id}) => !ignore.includes(id))
  return {
    ...report,
    findings: [...kept, ...report.findings].toSorted((a, b) => severityRank[a.severity] - severityRank[b.severity]),
    notSeen: [...report.notSeen, ...notSeen],
    exitCode: kept.some(({severity}) => severity === 'error') ? exitCodes.CheckFailed : report.exitCode,
  }
}

function asksForEvidence(flags: DoctorFlagValues): boolean {
  return (
    flags.capture === true ||
    flags.logs === true ||
    flags['log-file'] !== undefined ||
    flags['capture-file'] !== undefined
  )
}

/** Logs and captures in files say something by themselves: a cluster only tells more. */
function filesSuffice(flags: DoctorFlagValues): boolean {
  const given = flags['log-file'] !== undefined || flags['capture-file'] !== undefined
  return given && flags.filename === undefined && flags.logs !== true && flags.capture !== true
}

/** Nothing was read, and why: what the files show is told, everything else is open (21). */
function withoutCluster(error: unknown): Snapshot {
  if (!(error instanceof SrcipError)) throw error
  const reading: SnapshotReading = {
    group: '',
    version: 'v1',
    resource: 'services',
    kind: 'Service',
    verb: 'list',
    state: 'unreachable',
    message: error.message,
  }
  return {
    apiVersion,
    kind: 'Snapshot',
    format: snapshotFormat,
    source: 'cluster',
    anonymised: false,
    cluster: {},
    readings: [reading],
    objects: [],
    exitCode: exitCodes.Ok,
    changed: false,
    warnings: [`no cluster was looked at, only the files: ${error.message}`],
  }
}

/** `SRC001,SRC024` in any case of letters. */
function readIds(words: readonly string[]): string[] {
  const ids = words.flatMap((word) => word.split(/[\s,]+/)).filter((word) => word !== '')
  const wrong = ids.find((id) => !/^SRC\d{3}$/i.test(id))
  if (wrong !== undefined) {
    throw new SrcipError('Usage', `--ignore ${JSON.stringify(wrong)} is not the id of a finding`, {
      hints: ['ids look like SRC024; docs/checks.md lists them'],
    })
  }
  return ids.map((id) => id.toUpperCase())
}

/** `svc/NAME`, `service/NAME`, or either with a namespace in between. */
function serviceName(word: string): {readonly namespace: string | undefined; readonly name: string} {
  const [kind = '', ...rest] = word.split('/')
  const known = ['svc', 'service', 'services'].includes(kind.toLowerCase())
  const [first, second] = known ? rest : [undefined, undefined]
  if (first === undefined || first === '' || rest.length > 2 || second === '') {
    throw new SrcipError('Usage', `${JSON.stringify(word)} names no Service`, {
      hints: ['write it as svc/NAME, with -n for its namespace'],
    })
  }
  return second === undefined ? {namespace: undefined, name: first} : {namespace: first, name: second}
}

/** The Service in full. Without a namespace: that of the flags or the kubeconfig; in files, the only one of that name. */
async function inNamespace(
  {namespace, name}: {readonly namespace: string | undefined; readonly name: string},
  snapshot: Snapshot,
  flags: DoctorFlagValues,
  context: {namespace(): Promise<string>},
): Promise<string> {
  const services = snapshot.objects.filter((object) => object.kind === 'Service' && object.metadata.name === name)
  const spaces = services.map((object) => object.metadata.namespace ?? 'default')
  const asked = namespace ?? flags.namespace ?? (flags.filename === undefined ? await context.namespace() : undefined)
  const chosen = asked ?? (spaces.length === 1 ? spaces[0] : undefined)
  if (chosen !== undefined && spaces.includes(chosen)) return `${chosen}/${name}`
  const unread = snapshot.readings.some(
    ({kind, state}) => kind === 'Service' && state !== 'complete' && state !== 'absent',
  )
  throw new SrcipError(
    'Precondition',
    chosen === undefined
      ? spaces.length === 0
        ? `there is no Service ${name}`
        : `Service ${name} is in several namespaces: ${spaces.join(', ')}`
      : `there is no Service ${chosen}/${name}${unread ? ' among those that could be read' : ''}`,
    {
      object: `service/${chosen ?? ''}${chosen === undefined ? '' : '/'}${name}`,
      hints: spaces.length > 0 ? spaces.map((one) => `-n ${one}`) : ['kubectl get services -A'],
    },
  )
}
