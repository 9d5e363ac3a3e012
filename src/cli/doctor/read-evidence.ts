import {open} from 'node:fs/promises'
import {captureFindings, logFindings} from '../../diagnosis/evidence/findings.ts'
import {readIngressLog} from '../../diagnosis/evidence/ingress-log.ts'
import {judgeCapture} from '../../diagnosis/evidence/judge-capture.ts'
import {judgeLog} from '../../diagnosis/evidence/judge-log.ts'
import {readPcap} from '../../diagnosis/evidence/packets.ts'
import {placesOf} from '../../diagnosis/evidence/places-of.ts'
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

/** Bytes of one log or capture that are read. */
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
  const places = placesOf(index, (flags['balancer-cidr'] ?? []).map(rangeOf))
  const findings: Finding[] = []
  for (const path of flags['log-file'] ?? []) {
    const text = (await readBytes(path)).toString('latin1')
    findings.push(...logFindings(judgeLog(readIngressLog(text), places), path))
  }
  for (const path of flags['capture-file'] ?? []) findings.push(...(await captureFile(path, places)))
  if (flags.capture === true) findings.push(...(await captureOne(flags, report, index, places, context)))
  if (flags.logs !== true) return {findings, notSeen: []}
  if (flags.filename !== undefined)
    throw new SrcipError('Usage', '--logs asks the cluster, -f does not', {
      hints: ['--log-file FILE reads a saved log'],
    })
  const logs = await readLogs(report, index, places, flags.since ?? 600_000, context)
  return {findings: [...findings, ...logs.findings], notSeen: logs.notSeen}
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
  const request = {pod, image: flags['capture-image'] ?? '', seconds, places, signal, onEvent}
  return capturePod(await connect(), request)
}

function rangeOf(text: string) {
  const range = readRange(text)
  if (range !== undefined) return range
  throw new SrcipError('Usage', `--balancer-cidr ${JSON.stringify(text)} is not an address range`, {
    hints: ['write it as 192.0.2.0/24 or 2001:db8::/32'],
  })
}

async function captureFile(path: string, places: Places): Promise<Finding[]> {
  const bytes = await readBytes(path)
  const looksLikeText = !bytes.subarray(0, 4).some((byte) => byte >= 0x80 || byte < 9)
  const read = looksLikeText ? readTcpdumpText(bytes.toString('latin1')) : readPcap(bytes)
  if (!('unreadable' in read)) return captureFindings(judgeCapture(read, places), path)
  throw new SrcipError('Usage', `${path} is no capture that can be read: ${read.unreadable}`, {
    object: path,
    hints: ["tcpdump -i any -n -s 384 -w FILE 'tcp port 80 or tcp port 443'"],
  })
}

async function readBytes(path: string): Promise<Buffer> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'ENOENT' ? 'there is no such file' : error.message
    throw new SrcipError('Usage', `cannot read ${path}: ${reason}`, {object: path})
  })
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
  places: Places,
  since: number,
  {open: connect, signal, onEvent}: EvidenceContext,
): Promise<Evidence> {
  const pods = receiverPods(report, index)
  const client = await connect()
  const title = `read the logs of ${pods.length} ingress pods`
  onEvent({type: 'step-started', step: 'logs', title})
  const read = await Promise.all(
    pods.map(async ({namespace, name, container}): Promise<Evidence> => {
      const range = {sinceSeconds: Math.ceil(since / 1000), tailLines: 20_000, limitBytes: logLimit}
      try {
        const text = await client.logs({namespace, name}, {container, signal, timeoutMs: 30_000, ...range})
        const rows = judgeLog(readIngressLog(text), places)
        return {findings: logFindings(rows, `pod/${namespace}/${name}`), notSeen: []}
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
