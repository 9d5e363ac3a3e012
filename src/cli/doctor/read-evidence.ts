import {open, type FileHandle} from 'node:fs/promises'
import {captureFindings, logFindings, type CausesOf} from '../../diagnosis/evidence/findings.ts'
import {hiddenCauses, loggedWays, type LoggedWay} from '../../diagnosis/evidence/hidden-cause.ts'
import {LogReader, readIngressLog} from '../../diagnosis/evidence/ingress-log.ts'
import {judgeCapture} from '../../diagnosis/evidence/judge-capture.ts'
import {judgeLog, LogJudge, type LogEvidence} from '../../diagnosis/evidence/judge-log.ts'
import {pcapFault, readPcap} from '../../diagnosis/evidence/packets.ts'
import {placesOf, type GivenPlaces} from '../../diagnosis/evidence/places-of.ts'
import type {Places} from '../../diagnosis/evidence/places.ts'
import {readTcpdumpText} from '../../diagnosis/evidence/tcpdump-text.ts'
import {hasStatus, type KubeClient} from '../../kube/index.ts'
import {readRange} from '../../model/address-range.ts'
import type {DoctorReport, Finding} from '../../model/doctor.ts'
import {SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {confirm} from '../terminal.ts'
import {capturePod} from './capture.ts'
import type {DoctorFlagValues} from './flags.ts'
import {receiverPods} from './receiver-pods.ts'

/** Bytes of one capture that are read; logs have no limit, since they are read piece by piece. */
const fileLimit = 64 << 20
const logLimit = 4 << 20

export interface EvidenceContext {
  readonly open: () => Promise<KubeClient>
  readonly signal: AbortSignal
  readonly onEvent: EventSink
}

/** What logs and captures add to a report: findings, and what could not be read. */
export type Evidence = Pick<DoctorReport, 'findings' | 'notSeen'>

/** Reads what `--logs`, `--log-file` and `--capture-file` name. Files that are none are errors; a pod that cannot be read is `notSeen`. */
export async function readEvidence(
  flags: DoctorFlagValues,
  report: DoctorReport,
  index: SnapshotIndex,
  context: EvidenceContext,
): Promise<Evidence> {
  const places = placesOf(index, givenPlaces(flags), report.paths)
  const ways = loggedWays(report.paths, index)
  const causes = causesAmong(ways, report.findings)
  const findings: Finding[] = []
  for (const path of flags['log-file'] ?? []) {
    const judged = await judgeLogFile(path, places, context.signal)
    findings.push(...logFindings(judged, path, causes))
  }
  const notRead: DoctorReport['notSeen'][number][] = []
  for (const path of flags['capture-file'] ?? []) {
    const capture = await captureFile(path, places)
    findings.push(...capture.findings)
    notRead.push(...capture.notSeen)
  }
  if (flags.capture === true) findings.push(...(await captureOne(flags, report, index, places, context)))
  if (flags.logs !== true) return {findings, notSeen: notRead}
  if (flags.filename !== undefined)
    throw new SrcipError('Usage', '--logs asks the cluster, -f does not', {
      hints: ['--log-file FILE reads a saved log'],
    })
  const logs = await readLogs(report, index, {places, ways}, flags.since ?? 600_000, context)
  return {findings: [...findings, ...logs.findings], notSeen: [...notRead, ...logs.notSeen]}
}

/** One pod, and only after somebody said yes. */
async function captureOne(
  flags: DoctorFlagValues,
  report: DoctorReport,
  index: SnapshotIndex,
  places: Places,
  {open: connect, signal, onEvent}: EvidenceContext,
): Promise<Finding[]> {
  const [pod] = receiverPods(report, index)
  if (pod === undefined) {
    throw new SrcipError(
      'Precondition',
      'no pod of an ingress that we know was found: there is nothing to capture on',
      {
        hints: ['name its Service: kubectl srcip doctor svc/NAME -n NAMESPACE --capture …'],
      },
    )
  }
  const seconds = Math.min(60, Math.ceil((flags['capture-time'] ?? 30_000) / 1000))
  const question = `put an ephemeral container with tcpdump into pod/${pod.namespace}/${pod.name} for ${seconds} s? It stays there, ended, until the Pod is replaced`
  if (!(await confirm(question, {yes: flags.yes === true})))
    throw new SrcipError('Usage', 'nothing was captured: it was not confirmed')
  const request = {pod, image: flags['capture-image'] ?? '', seconds, places, save: flags.save, signal, onEvent}
  return capturePod(await connect(), request)
}

function givenPlaces(flags: DoctorFlagValues): GivenPlaces {
  const given = (name: 'balancer-cidr' | 'pod-cidr' | 'node-cidr') =>
    (flags[name] ?? []).map((text) => {
      const range = readRange(text)
      if (range !== undefined) return range
      throw new SrcipError('Usage', `--${name} ${JSON.stringify(text)} is not an address range`, {
        hints: ['write it as 192.0.2.0/24 or 2001:db8::/32'],
      })
    })
  return {balancers: given('balancer-cidr'), pods: given('pod-cidr'), nodes: given('node-cidr')}
}

function causesAmong(ways: readonly LoggedWay[], findings: readonly Finding[]): CausesOf {
  return (name) => hiddenCauses(name, ways, findings)
}

/** Reads a log of any size in the memory of one piece. */
async function judgeLogFile(path: string, places: Places, signal: AbortSignal): Promise<LogEvidence[]> {
  const file = await openFile(path)
  const reader = new LogReader()
  const judge = new LogJudge(places)
  try {
    for await (const piece of file.createReadStream({encoding: 'latin1', highWaterMark: 1 << 20, autoClose: false})) {
      signal.throwIfAborted()
      for (const event of reader.read(piece as string)) judge.add(event)
    }
  } catch (error) {
    signal.throwIfAborted()
    throw cannotRead(path, error as NodeJS.ErrnoException)
  } finally {
    await file.close()
  }
  for (const event of reader.end()) judge.add(event)
  return judge.rows()
}

async function openFile(path: string): Promise<FileHandle> {
  return open(path).catch((error: NodeJS.ErrnoException) => {
    throw cannotRead(path, error)
  })
}

function cannotRead(path: string, error: NodeJS.ErrnoException): SrcipError {
  const reason = error.code === 'ENOENT' ? 'there is no such file' : error.message
  return new SrcipError('Usage', `cannot read ${path}: ${reason}`, {object: path})
}

async function captureFile(path: string, places: Places): Promise<Evidence> {
  const bytes = await readBytes(path)
  const looksLikeText = !bytes.subarray(0, 4).some((byte) => byte >= 0x80 || byte < 9)
  const read = looksLikeText ? readTcpdumpText(bytes.toString('latin1')) : readPcap(bytes)
  if (!('unreadable' in read)) {
    const fault = looksLikeText ? undefined : pcapFault(bytes)
    return {
      findings: captureFindings(judgeCapture(read, places), path),
      notSeen: fault === undefined ? [] : [{verb: 'read', resource: path, reason: fault}],
    }
  }
  throw new SrcipError('Usage', `${path} is no capture that can be read: ${read.unreadable}`, {
    object: path,
    hints: ["tcpdump -i any -n -s 384 -w FILE 'tcp port 80 or tcp port 443'"],
  })
}

async function readBytes(path: string): Promise<Buffer> {
  const file = await openFile(path)
  try {
    const {size} = await file.stat()
    if (size > fileLimit)
      throw new SrcipError('Usage', `${path} has ${size} bytes, more than ${fileLimit}: give a part of it`, {
        object: path,
      })
    return await file.readFile()
  } finally {
    await file.close()
  }
}

async function readLogs(
  report: DoctorReport,
  index: SnapshotIndex,
  {places, ways}: {readonly places: Places; readonly ways: readonly LoggedWay[]},
  since: number,
  {open: connect, signal, onEvent}: EvidenceContext,
): Promise<Evidence> {
  const pods = receiverPods(report, index)
  const client = await connect()
  const title = `read the logs of ${pods.length} ingress pods`
  onEvent({type: 'step-started', step: 'logs', title})
  const read = await Promise.all(
    pods.map(async ({namespace, name, container, services}): Promise<Evidence> => {
      const own = ways.filter((way) => way.namespace === namespace && services.includes(way.service))
      const range = {sinceSeconds: Math.ceil(since / 1000), tailLines: 20_000, limitBytes: logLimit}
      try {
        const text = await client.logs({namespace, name}, {container, signal, timeoutMs: 30_000, ...range})
        const rows = judgeLog(readIngressLog(text), places)
        return {findings: logFindings(rows, `pod/${namespace}/${name}`, causesAmong(own, report.findings)), notSeen: []}
      } catch (error) {
        signal.throwIfAborted()
        const reason = hasStatus(error, 403) ? 'denied' : error instanceof Error ? error.message : String(error)
        return {findings: [], notSeen: [{verb: 'get', resource: `pods/log of ${name}`, namespace, reason}]}
      }
    }),
  )
  onEvent({type: 'step-done', step: 'logs', title, changed: false})
  return {findings: read.flatMap((one) => one.findings), notSeen: read.flatMap((one) => one.notSeen)}
}
