import {afterAll, beforeAll, expect, test} from 'vitest'
import {diagnose} from '../../../src/diagnosis/diagnose.ts'
import {createKubeClient, loadKubeconfig, loadSnapshot, type KubeClient} from '../../../src/kube/index.ts'
import type {DoctorReport} from '../../../src/model/doctor.ts'
import {projectObject, snapshotKindOf} from '../../../src/model/projection/project-object.ts'
import {groupOf, indexSnapshot, type Snapshot} from '../../../src/model/snapshot.ts'
import {doctorCases, doctorObjects} from '../../support/doctor-cases.ts'
import {ApiFailure, apiClient, type ApiClient} from '../bed/api-client.ts'
import {API_SERVER_PARTS, startApiServer, type ApiServer, type KubeObject} from '../bed/index.ts'
import {describeWithParts} from '../bed/suite.ts'
import {putObjects} from '../snapshot/put-objects.ts'

/** Rights that are missing are the unit tests' part; what no API server takes cannot be read back from one. */
const cases = Object.entries(doctorCases()).filter(([, {server, hidden}]) => server !== false && hidden === undefined)

const isCustom = (object: KubeObject): boolean =>
  snapshotKindOf(object.apiVersion, object.kind)?.builtIn === false || object.kind === 'Job'

await describeWithParts('the verdicts hold for objects that a real API server has filled in', API_SERVER_PARTS, () => {
  let api: ApiServer
  let admin: ApiClient
  let client: KubeClient
  const there: KubeObject[] = []

  beforeAll(async () => {
    api = await startApiServer()
    admin = apiClient({port: api.port, ca: api.ca, token: api.adminToken})
    client = createKubeClient(await loadKubeconfig({kubeconfig: api.kubeconfig}, {}), {userAgent: 'test'})
  })
  afterAll(async () => {
    client?.close()
    admin?.close()
    await api?.stop()
  })

  const clear = async (): Promise<void> => {
    await Promise.all(there.splice(0).map((object) => remove(admin, object)))
  }

  /** What the server gives back, and beside it the custom objects, whose kinds it does not have. */
  const readBack = async (objects: readonly KubeObject[]): Promise<Snapshot> => {
    const snapshot = await loadSnapshot(client)
    const custom = objects.filter(isCustom)
    const kinds = new Set(custom.map((object) => `${groupOf(object.apiVersion)}/${object.kind}`))
    return {
      ...snapshot,
      readings: snapshot.readings.map((reading) =>
        kinds.has(`${reading.group}/${reading.kind}`) ? {...reading, state: 'complete' as const} : reading,
      ),
      objects: [
        ...snapshot.objects,
        ...custom.flatMap((object) => {
          const kind = snapshotKindOf(object.apiVersion, object.kind)
          return kind === undefined ? [] : (projectObject(kind, object) ?? [])
        }),
      ],
    }
  }

  test.each(cases)('%s', async (name, expected) => {
    await clear()
    const objects = doctorObjects(name, expected) as KubeObject[]
    const own = objects.filter(
      (object) => !isCustom(object) && snapshotKindOf(object.apiVersion, object.kind) !== undefined,
    )
    there.push(...own)
    await putObjects(admin, own)
    const report = diagnose(indexSnapshot(await readBack(objects)))
    expect(verdictsOf(report)).toEqual(
      expected.ways
        .flatMap((way) => way.ports.map((port) => `${way.at}:${port} ${way.outside} ${way.hairpin}`))
        .toSorted(),
    )
    expect(report.exitCode).toBe(expected.exit)
  })
})

function verdictsOf(report: DoctorReport): string[] {
  return report.paths
    .map((path) => `${path.namespace}/${path.service}:${path.port} ${path.outside.verdict} ${path.hairpin.verdict}`)
    .toSorted()
}

/** Deletes one object at once; one that is not there is fine. */
async function remove(admin: ApiClient, object: KubeObject): Promise<void> {
  const kind = snapshotKindOf(object.apiVersion, object.kind)
  const root = object.apiVersion.includes('/') ? `/apis/${object.apiVersion}` : `/api/${object.apiVersion}`
  const scope = kind?.namespaced === true ? `/namespaces/${object.metadata.namespace ?? 'default'}` : ''
  const options = {kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0}
  try {
    await admin.request('DELETE', `${root}${scope}/${kind?.plural}/${object.metadata.name}`, options)
  } catch (error) {
    if (!(error instanceof ApiFailure && error.status === 404)) throw error
  }
}
