import {writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {apiClient, ApiFailure, type ApiClient} from '../bed/api-client.ts'
import {API_SERVER_PARTS, describeWithParts, startApiServer, type ApiServer, type KubeObject} from '../bed/index.ts'
import {chartFolder, firstPodTemplate, HelmHome, objectsIn, podTemplates, valuesFile} from './helm.ts'

const restricted = {
  'pod-security.kubernetes.io/enforce': 'restricted',
  'pod-security.kubernetes.io/enforce-version': 'latest',
}

/** Kinds that the chart makes, as the API lists them. */
const lists = [
  '/apis/apps/v1/deployments',
  '/apis/batch/v1/jobs',
  '/api/v1/services',
  '/api/v1/serviceaccounts',
  '/api/v1/configmaps',
  '/apis/policy/v1/poddisruptionbudgets',
  '/apis/networking.k8s.io/v1/networkpolicies',
  '/apis/rbac.authorization.k8s.io/v1/roles',
  '/apis/rbac.authorization.k8s.io/v1/rolebindings',
  '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  '/apis/coordination.k8s.io/v1/leases',
]

/** Everything that is there, as `KIND-PATH namespace/name`; what the control plane makes by itself is in both lists. */
async function everything(admin: ApiClient): Promise<string[]> {
  const found = await Promise.all(
    lists.map(async (path) =>
      (await admin.list<KubeObject>(path)).map(({metadata}) => `${path} ${metadata.namespace ?? ''}/${metadata.name}`),
    ),
  )
  return found
    .flat()
    .filter((each) => !each.includes('leases kube-system/apiserver-'))
    .toSorted()
}

for (const tool of ['helm', 'helm-3'] as const)
  await describeWithParts(
    `the chart, installed by ${tool === 'helm' ? 'Helm 4' : 'Helm 3'}`,
    [tool, ...API_SERVER_PARTS],
    (parts) => {
      let api: ApiServer
      let admin: ApiClient
      let home: HelmHome
      beforeAll(async () => {
        api = await startApiServer()
        admin = apiClient({port: api.port, ca: api.ca, token: api.adminToken})
        home = new HelmHome(parts[tool])
        for (const name of ['srcip', 'edge', 'dns-system', 'ingress-nginx'])
          await admin.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name, labels: restricted}})
      })
      afterAll(async () => {
        home.remove()
        admin.close()
        await api.stop()
      })

      const helm = (...argv: string[]) => home.helm(...argv, '--kubeconfig', api.kubeconfig, '-n', 'srcip')

      test('is the Helm that it should be', async () => {
        expect((await home.helm('version', '--short')).output).toMatch(tool === 'helm' ? /^v4\./ : /^v3\./)
      })

      test.each(['minimal', 'several', 'bare'])(
        'every pod of %s is admitted where restricted is enforced',
        async (name) => {
          const templates = podTemplates(objectsIn(await home.template(valuesFile(name))))
          for (const {of, metadata, spec} of templates) {
            const {topologySpreadConstraints: _, priorityClassName: __, ...rest} = spec
            const pod = {
              apiVersion: 'v1',
              kind: 'Pod',
              metadata: {...metadata, name: 'one'},
              spec: {...rest, serviceAccountName: 'default'},
            }
            await admin.apply({
              apiVersion: 'v1',
              kind: 'ServiceAccount',
              metadata: {name: 'default', namespace: 'srcip'},
            })
            const made = await admin.request('POST', '/api/v1/namespaces/srcip/pods?dryRun=All', pod)
            expect(made, of).toMatchObject({kind: 'Pod'})
          }
          expect(templates.length).toBeGreaterThan(0)
        },
      )

      test('a pod that is not restricted is refused there: the admission is really on', async () => {
        const {spec} = firstPodTemplate(objectsIn(await home.template(valuesFile('minimal'))))
        const [container] = spec['containers'] as [Record<string, unknown>]
        const {securityContext: _, ...loose} = container
        const pod = {apiVersion: 'v1', kind: 'Pod', metadata: {name: 'one'}, spec: {containers: [loose]}}
        const refused = admin.request('POST', '/api/v1/namespaces/srcip/pods?dryRun=All', pod)
        await expect(refused).rejects.toThrow(ApiFailure)
        await expect(refused).rejects.toThrow(/violates PodSecurity "restricted/)
      })

      test.each(['minimal', 'several', 'bare'])(
        '%s installs, upgrades to itself and uninstalls without a trace',
        async (name) => {
          const before = await everything(admin)
          // The operator's kinds are not served here, and its objects are in the golden files.
          const values = join(home.folder, 'more.yaml')
          writeFileSync(
            values,
            'podMonitor: {enabled: false}\nprometheusRule: {enabled: false}\nproxy: {priorityClassName: ""}\n',
          )
          const argv = ['srcip', chartFolder, '-f', valuesFile(name), '-f', values]
          const installed = await helm('install', ...argv)
          expect(installed.code, installed.output).toBe(0)
          expect(installed.output).toContain('is installed in srcip')
          const between = await everything(admin)
          const rendered = objectsIn(await home.template(valuesFile(name), '-f', values)).filter(
            (object) => object.metadata.annotations?.['helm.sh/hook'] === undefined,
          )
          expect(between.length - before.length).toBe(rendered.length)
          const upgraded = await helm('upgrade', ...argv)
          expect(upgraded.code, upgraded.output).toBe(0)
          // the hook has its own test on the whole bed; here nobody would run its Job
          const gone = await helm('uninstall', 'srcip', '--no-hooks')
          expect(gone.code, gone.output).toBe(0)
          await expect.poll(() => everything(admin), {timeout: 20_000}).toEqual(before)
        },
      )
    },
  )
