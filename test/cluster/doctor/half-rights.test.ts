import {readFileSync} from 'node:fs'
import {afterAll, beforeAll, describe, expect, test} from 'vitest'
import {parse} from 'yaml'
import {diagnose} from '../../../src/diagnosis/diagnose.ts'
import {createKubeClient, loadKubeconfig, loadSnapshot} from '../../../src/kube/index.ts'
import {snapshotKindOf} from '../../../src/model/projection/project-object.ts'
import {indexSnapshot, type Snapshot} from '../../../src/model/snapshot.ts'
import {doctorCases, doctorObjects} from '../../support/doctor-cases.ts'
import {guesses} from '../../support/doctor-guesses.ts'
import {propertySeed} from '../../support/property-seed.ts'
import {seeded} from '../../support/random.ts'
import {apiClient, type ApiClient} from '../bed/api-client.ts'
import {API_SERVER_PARTS, startApiServer, type ApiServer, type KubeObject} from '../bed/index.ts'
import {describeWithParts} from '../bed/suite.ts'
import {putObjects} from '../snapshot/put-objects.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

const rbac = 'rbac.authorization.k8s.io'
const users = Array.from({length: 8}, (_, index) => `half-${index}`)
/** One verdict of each kind that a missing right could turn around: broken, fine by the data plane, fine by cluster DNS. */
const names = ['lb-do-proxy', 'cni-cilium-dsr', 'case-hairpin-srcip-in-place']

await describeWithParts('403 on half the kinds, by the real authorizer', API_SERVER_PARTS, () => {
  let api: ApiServer
  let admin: ApiClient
  const withheld = new Map<string, readonly string[]>()

  beforeAll(async () => {
    api = await startApiServer({users: users.map((name) => ({name}))})
    admin = apiClient({port: api.port, ca: api.ca, token: api.adminToken})
    const file = new URL('../../../charts/srcip/files/doctor.yaml', import.meta.url)
    const {rules} = parse(readFileSync(file, 'utf8')) as {rules: readonly Rule[]}
    const rights = rules.flatMap(({apiGroups: [group = ''], resources, verbs}) =>
      resources.map((resource) => ({group, resource, verbs})),
    )
    const random = seeded(propertySeed)
    for (const name of users) {
      // without Services there is nothing to judge, which has its own test
      const given = rights.filter(({resource}) => resource === 'services' || random.chance(0.5))
      withheld.set(
        name,
        rights.filter((right) => !given.includes(right)).map(({group, resource}) => `${group}/${resource}`),
      )
      const role = {apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: {name}}
      await admin.request('POST', `/apis/${rbac}/v1/clusterroles`, {
        ...role,
        rules: given.map(({group, resource, verbs}) => ({apiGroups: [group], resources: [resource], verbs})),
      })
      await admin.request('POST', `/apis/${rbac}/v1/clusterrolebindings`, {
        ...{apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata: {name}},
        roleRef: {apiGroup: rbac, kind: 'ClusterRole', name},
        subjects: [{apiGroup: rbac, kind: 'User', name}],
      })
    }
  })
  afterAll(async () => {
    admin?.close()
    await api?.stop()
  })

  const read = async (kubeconfig: string): Promise<Snapshot> => {
    const client = createKubeClient(await loadKubeconfig({kubeconfig}, {}), {userAgent: 'test'})
    try {
      return await loadSnapshot(client)
    } finally {
      client.close()
    }
  }

  describe.each(names)('%s', (name) => {
    let whole: Snapshot
    beforeAll(async () => {
      const objects = doctorObjects(name, doctorCases()[name]!) as KubeObject[]
      await putObjects(
        admin,
        objects.filter((object) => snapshotKindOf(object.apiVersion, object.kind)?.builtIn === true),
      )
      whole = await read(api.kubeconfig)
    })

    test.each(users)('%s: verdicts hold or are open, and each refusal is named', async (user) => {
      const part = await read(api.kubeconfigFor({user}))
      const report = diagnose(indexSnapshot(part))
      expect(guesses(diagnose(indexSnapshot(whole)), report)).toEqual([])
      const served = new Set(
        whole.readings.filter(({state}) => state !== 'absent').map(({group, resource}) => `${group}/${resource}`),
      )
      const refused = new Set(
        part.readings.filter(({state}) => state === 'denied').map(({group, resource}) => `${group}/${resource}`),
      )
      const wanted = (withheld.get(user) ?? []).filter((one) => served.has(one))
      expect(wanted.length).toBeGreaterThan(0)
      expect([...wanted].filter((one) => !refused.has(one))).toEqual([])
      expect(report.notSeen.length).toBeGreaterThanOrEqual(refused.size)
      for (const {verb} of report.notSeen) expect(['list', 'get']).toContain(verb)
    })
  })
})
