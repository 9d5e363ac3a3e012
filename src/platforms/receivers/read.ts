import {field, record, text} from '../../model/fields.ts'
import type {KubeObject} from '../../model/kubernetes.ts'
import type {SnapshotIndex} from '../../model/snapshot.ts'
import {weakest} from '../cell.ts'
import {containerPort, records, type Runner} from '../workloads.ts'
import {readConfigMapSetting} from './config-map-reader.ts'
import {readEntryPoints, readFlag, readListenVariable, readMesh, unknownProcess} from './process-readers.ts'
import {readConfigFile} from './static-files.ts'
import type {RecognisedReceiver} from './recognise.ts'
import {readResource} from './resource-readers.ts'
import type {ReceiverRow} from './row.ts'
import {trustFrom, type Found, type ReceiverQuestion, type ReceiverState} from './state.ts'
import {readTcpService} from './tcp-services.ts'

/** What the receiver behind a Service does with connections to one of its ports; undefined when it is no known receiver. */
export function readReceiver(
  index: SnapshotIndex,
  service: KubeObject,
  receiver: RecognisedReceiver,
  port: number,
): ReceiverState | undefined {
  const question = questionFor(index, service, receiver, port)
  if (question === undefined) return undefined
  // pods of one Service may run with different arguments, as in a rollout that got stuck
  const kinds = new Map(question.runners.map((runner) => [argumentsOf(runner), runner]))
  if (kinds.size < 2) return stateOf(question.row, readOne(question))
  const states = [...kinds.values()].map((runner) => stateOf(question.row, readOne({...question, runners: [runner]})))
  const [first] = states
  const differ = states.some((state) => state.asks !== first?.asks)
  return differ && first !== undefined ? {...first, asks: 'some', seen: states.flatMap((state) => state.seen)} : first
}

function readOne(question: ReceiverQuestion): Found {
  return readTcpService(question) ?? read(question)
}

/** What tells pods of one Service apart, as far as a setting goes. */
function argumentsOf(runner: Runner): string {
  return JSON.stringify([
    runner.spec.containers.map((container) => [container.command, container.args, container.env]),
    runner.annotations['proxy.istio.io/config'],
  ])
}

/** What a reader needs to know of one port; undefined when no known receiver stands there. */
export function questionFor(
  index: SnapshotIndex,
  service: KubeObject,
  receiver: RecognisedReceiver,
  port: number,
): ReceiverQuestion | undefined {
  const {row} = receiver
  if (row === undefined) return undefined
  const entry = records(field(record(service['spec']), 'ports')).find((one) => field(one, 'port') === port)
  return {
    index,
    row,
    receiver,
    service,
    runners: receiver.runners,
    neighbours: receiver.neighbours,
    port,
    portName: text(field(entry ?? {}, 'name')) ?? '',
    targetPort: targetPortOf(entry ?? {}, port, receiver.runners),
  }
}

/** Port inside the pod, a name looked up in the containers. */
export function targetPortOf(
  entry: Readonly<Record<string, unknown>>,
  port: number,
  runners: readonly Runner[],
): number | undefined {
  const target = field(entry, 'targetPort')
  if (typeof target === 'number') return target
  if (typeof target !== 'string') return port
  return runners.map((runner) => containerPort(runner, target)).find((one) => one !== undefined)
}

function read(question: ReceiverQuestion): Found {
  const setting = question.row.setting.value
  switch (setting.kind) {
    case 'config-map':
      return readConfigMapSetting(question, setting)
    case 'entry-points':
      return readEntryPoints(question)
    case 'flag':
      return readFlag(question, setting.flag)
    case 'listen-variable':
      return readListenVariable(question, setting.name, setting.word)
    case 'resource':
      return readResource(question, setting.resource)
    case 'mesh':
      return readMesh(question)
    case 'config-file':
      return readConfigFile(question)
    case 'unknown':
      return unknownProcess(question, question.row.setting.check ?? 'read its documentation')
  }
}

/** A row and what was found, as one state. Only the cells that count in this state decide the grade. */
function stateOf(row: ReceiverRow, found: Found): ReceiverState {
  const grades = [row.setting.grade, found.grade ?? 'source']
  const sources = [row.setting.source, ...(found.source === undefined ? [] : [found.source])]
  if (found.asks !== 'no') {
    if (found.withoutHeader === undefined) {
      grades.push(row.withoutHeader.grade)
      sources.push(row.withoutHeader.source)
    }
    if (found.trust === undefined || found.trust.kind !== 'anyone') grades.push(row.trust.grade)
  }
  const check = found.check ?? row.setting.check
  return {
    asks: found.asks,
    withoutHeader: found.withoutHeader ?? row.withoutHeader.value,
    versions: found.versions ?? row.versions.value,
    trust: found.trust ?? trustFrom(row.trust.value, undefined),
    seen: found.seen,
    grade: weakest(grades),
    sources: [...new Set(sources)],
    ...(check === undefined ? {} : {check}),
    whenOn: found.whenOn ?? {},
    ...(found.forwarded === undefined ? {} : {forwarded: found.forwarded}),
    loopback: found.loopback ?? false,
    ...(found.tcpService === undefined ? {} : {tcpService: found.tcpService}),
    notes: found.notes ?? [],
  }
}
