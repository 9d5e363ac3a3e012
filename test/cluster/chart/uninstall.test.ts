import {mkdtempSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {fileURLToPath} from 'node:url'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {
  applicationObjects,
  BED_PARTS,
  bedForSuite,
  describeWithParts,
  ingressFor,
  kubeadmCorefile,
  OUTSIDE,
  until,
  type ExecResult,
  type KubeObject,
} from '../bed/index.ts'
import {imageEntrypoint} from '../../../scripts/image/entrypoint.ts'
import {assembleRootfs} from '../../../scripts/image/rootfs.ts'
import {chartFolder, image, valuesFile} from './helm.ts'
import {runJobs} from './job-runner.ts'

const shop = 'shop.example.org'
const original = kubeadmCorefile('2s 1s')
const corednsMap = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
const settleSeconds = 3

/** Refuses the hook's pod as a policy of a platform would; the pod itself is within the restricted Pod Security Standard. */
const admission = '/apis/admissionregistration.k8s.io/v1'
const noHook = [
  [
    `${admission}/validatingadmissionpolicies`,
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: {name: 'no-hook'},
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [{apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods']}],
          objectSelector: {matchLabels: {'srcip.dev/component': 'hook'}},
        },
        validations: [{expression: 'false', message: 'pods of hooks are not wanted here'}],
      },
    },
  ],
  [
    `${admission}/validatingadmissionpolicybindings`,
    {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: {name: 'no-hook'},
      spec: {policyName: 'no-hook', validationActions: ['Deny']},
    },
  ],
] as const

await describeWithParts('the chart, uninstalled', ['helm', 'helm-3', ...BED_PARTS], async (parts) => {
  let hookStarts = true
  // Every pod of the chart runs from the folder that the image holds.
  const rootfs = mkdtempSync(join(tmpdir(), 'srcip-rootfs-'))
  beforeAll(() => void assembleRootfs(fileURLToPath(new URL('../../..', import.meta.url)), rootfs))
  const current = await bedForSuite({
    images: {
      [image]: {
        ...imageEntrypoint(rootfs),
        prepare: (pod) => {
          if (!hookStarts && pod.metadata.labels?.['srcip.dev/component'] === 'hook')
            throw new Error(`Failed to pull image "${image}": not found`)
        },
      },
    },
  })
  const end = new AbortController()
  let values: string

  beforeAll(async () => {
    const bed = current()
    values = join(bed.folder, 'values.yaml')
    writeFileSync(values, `cleanup: {deadlineSeconds: 30, verifyTimeout: 20s, settle: ${settleSeconds}s}\n`)
    const restricted = {'pod-security.kubernetes.io/enforce': 'restricted'}
    await bed.create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'shop'}},
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'srcip', labels: restricted}},
      ...applicationObjects('shop', 'shop'),
      ingressFor('shop', 'shop', shop, 'shop'),
    )
    void runJobs(bed, 'srcip', end.signal)
  })
  afterAll(() => {
    end.abort()
    rmSync(rootfs, {recursive: true, force: true})
  })

  const srcip = (...argv: string[]) => current().cli(['kubectl', 'srcip', ...argv], {timeout: 120_000})
  const helmOf =
    (program: string) =>
    (...argv: string[]) =>
      current().cli([program, ...argv, '-n', 'srcip'], {timeout: 120_000})
  const helm = helmOf(parts.helm)
  const corefile = async (): Promise<string> => {
    const map = await current().api.get<KubeObject & {data: {Corefile: string}}>(
      '/api/v1/namespaces/kube-system/configmaps/coredns',
    )
    return map.data.Corefile
  }
  const answers = async (): Promise<string[]> => {
    const pods = current().corednsPods()
    const all = await Promise.all(pods.map(({address}) => current().resolve(shop, {server: address})))
    return all.map(({addresses}) => addresses.join())
  }
  const proxyDeployment = () =>
    current()
      .api.list<KubeObject>('/apis/apps/v1/namespaces/srcip/deployments')
      .then((items) => items.some(({metadata}) => metadata.name === 'srcip-proxy'))

  async function install(by = helm): Promise<string> {
    const {code, stderr} = await by('install', 'srcip', chartFolder, '-f', valuesFile('minimal'), '-f', values)
    expect(code, stderr).toBe(0)
    await current().waitReady('srcip', {}, 60)
    const {spec} = await current().api.get<KubeObject & {spec: {clusterIP: string}}>(
      '/api/v1/namespaces/srcip/services/srcip-proxy',
    )
    await until('both CoreDNS answer with the proxy', 60, async () =>
      (await answers()).every((address) => address === spec.clusterIP),
    )
    return spec.clusterIP
  }

  async function labelled(): Promise<string[]> {
    const {stdout} = await current().cli([
      ...['kubectl', 'get', '-A', '-l', 'srcip.dev/component', '-o', 'name'],
      'deploy,job,svc,sa,role,rolebinding,clusterrole,clusterrolebinding,netpol,pdb,cm,lease',
    ])
    return stdout.split('\n').filter((line) => line !== '')
  }

  const leases = () =>
    current()
      .api.list<KubeObject>('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases')
      .then((items) => items.map(({metadata}) => metadata.name).filter((name) => name.startsWith('srcip')))

  test('helm uninstall: lines, every CoreDNS, caches, and only then the proxies; every byte and no trace', async () => {
    const proxy = await install()
    expect(await corefile()).toContain(`rewrite name exact ${shop}`)

    const refused = await srcip('cleanup', '--yes', '--dns-only', '--even-in-use')
    expect(refused).toMatchObject({code: 33, stderr: expect.stringMatching(/srcip-dns.*held by srcip-[\w-]+/s)})
    expect(refused.stderr).toContain('--stop-run')
    const inUse = await srcip('cleanup', '--yes', '--dns-only', '--stop-run')
    expect(inUse).toMatchObject({code: 32, stderr: expect.stringContaining('service/srcip/srcip-proxy has')})
    const owned = await srcip('cleanup', '--yes', '--stop-run', '--even-in-use')
    expect(owned).toMatchObject({code: 32, stderr: expect.stringContaining('helm uninstall srcip -n srcip')})
    expect(await answers()).toEqual([proxy, proxy])

    let done: ExecResult | undefined
    const uninstall = helm('uninstall', 'srcip').then((result) => (done = result))
    let cleanSince: number | undefined
    let gap = 0
    while (done === undefined) {
      const there = await proxyDeployment()
      const clean = (await answers()).every((address) => address === OUTSIDE.balancer)
      if (!clean) expect(there, 'the proxy is there while a CoreDNS still names it').toBe(true)
      else cleanSince ??= performance.now()
      if (!there && gap === 0) gap = performance.now() - (cleanSince ?? performance.now())
      await sleep(50)
    }
    const {code, stderr} = await uninstall
    expect(code, stderr).toBe(0)
    if (gap === 0) gap = performance.now() - (cleanSince ?? performance.now())
    // the last CoreDNS took the change up to one sample before the proof of it
    expect(gap).toBeGreaterThan((settleSeconds - 1) * 1000)
    expect(await corefile()).toBe(original)
    await expect.poll(labelled, {timeout: 20_000}).toEqual([])
    expect(await leases()).toEqual([])
  })

  test('B56: a hook that cannot start ends by its deadline, says what to run, and that works without a pod', async () => {
    await install()
    hookStarts = false
    const failed = await helm('uninstall', 'srcip')
    expect(failed.code).not.toBe(0)
    expect(failed.seconds).toBeLessThan(90)
    expect(failed.stderr).toMatch(/or-run-kubectl-srcip-cleanup/)
    expect(await proxyDeployment()).toBe(true)

    const dns = await srcip('cleanup', '--dns-only', '--stop-run', '--even-in-use', '--yes', '--settle=0', '-o', 'json')
    expect(dns.code, dns.stderr).toBe(0)
    const report = JSON.parse(dns.stdout) as object
    expect(report).toMatchObject({kind: 'CleanupReport', outcome: 'clean', changed: true, dns: {outcome: 'proved'}})
    expect(report).toMatchObject({stopped: ['deployment/srcip/srcip']})
    expect(await corefile()).toBe(original)
    expect(await answers()).toEqual([OUTSIDE.balancer, OUTSIDE.balancer])
    expect(await proxyDeployment()).toBe(true)
    const gone = await helm('uninstall', 'srcip', '--no-hooks')
    expect(gone.code, gone.stderr).toBe(0)

    // what the hook left: its Job, account and roles
    expect((await labelled()).length).toBeGreaterThan(0)
    const rest = await srcip('cleanup', '--yes', '-o', 'json')
    expect(rest.code, rest.stderr).toBe(0)
    expect(JSON.parse(rest.stdout)).toMatchObject({outcome: 'clean', changed: true})
    expect(await labelled()).toEqual([])
    expect(await leases()).toEqual([])
    const again = await srcip('cleanup', '--yes', '-o', 'json')
    expect(again.code).toBe(0)
    expect(JSON.parse(again.stdout)).toMatchObject({outcome: 'already-clean', changed: false, objects: []})
    hookStarts = true
  })

  test('B57: lines that point at nothing go in one write, the names answer as the public DNS does', async () => {
    const left = original.replace(
      '.:53 {\n',
      [
        '.:53 {',
        '    # === BEGIN srcip (managed by kubectl srcip, do not edit) ===',
        `    rewrite name exact ${shop} srcip-proxy.srcip.svc.cluster.local.`,
        '    rewrite name exact registry.example.org srcip-proxy.srcip.svc.cluster.local.',
        '    # === END srcip ===',
        '',
      ].join('\n'),
    )
    expect(left).not.toBe(original)
    await current().api.patch(corednsMap, {data: {Corefile: left}})
    await until('the names lead nowhere', 30, async () => (await answers()).every((address) => address === ''))
    const looked = await srcip('cleanup', '--dry-run=client', '-o', 'json')
    expect(looked.code, looked.stderr).toBe(0)
    expect(JSON.parse(looked.stdout)).toMatchObject({outcome: 'planned', dns: {lines: 4}})
    expect(await corefile()).toBe(left)

    const writes = await watchWrites(async () => {
      const cleaned = await srcip('cleanup', '--yes', '-o', 'json')
      expect(cleaned.code, cleaned.stderr).toBe(0)
      expect(JSON.parse(cleaned.stdout)).toMatchObject({
        outcome: 'clean',
        changed: true,
        dns: {outcome: 'proved', lines: 4},
      })
    })
    expect(writes).toBe(1)
    expect(await corefile()).toBe(original)
    expect(await answers()).toEqual([OUTSIDE.balancer, OUTSIDE.balancer])
    expect(await leases()).toEqual([])
  })

  test('B57: lines whose markers are gone are found by their target', async () => {
    // comments that somebody else wrote around them are not ours, and stay
    const comments = ['    # BEGIN srcip\n', '    # END srcip\n']
    const rules = [shop, 'registry.example.org'].map(
      (name) => `    rewrite name ${name} srcip-proxy.srcip.svc.cluster.local.\n`,
    )
    const before = (lines: string[]) => original.replace('.:53 {\n', `.:53 {\n${lines.join('')}`)
    const [begin = '', last = ''] = comments
    await current().api.patch(corednsMap, {data: {Corefile: before([begin, ...rules, last])}})
    await until('the name leads nowhere', 30, async () => (await answers()).every((address) => address === ''))
    const cleaned = await srcip('cleanup', '--yes')
    expect(cleaned.code, cleaned.stderr).toBe(0)
    expect(await corefile()).toBe(before(comments))
    expect(await answers()).toEqual([OUTSIDE.balancer, OUTSIDE.balancer])
  })

  test('Helm 3, and a policy that refuses the hook’s pod: the same end by the deadline, and the same way out', async () => {
    const helm3 = helmOf(parts['helm-3'])
    // The test before leaves comments that are not ours.
    await current().api.patch(corednsMap, {data: {Corefile: original}})
    await install(helm3)
    for (const [path, object] of noHook) await current().api.request('POST', path, object)
    const hookPod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {name: 'probe', namespace: 'srcip', labels: {'srcip.dev/component': 'hook'}},
      spec: {
        serviceAccountName: 'srcip',
        securityContext: {runAsNonRoot: true, seccompProfile: {type: 'RuntimeDefault'}},
        containers: [
          {name: 'a', image, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: ['ALL']}}},
        ],
      },
    }
    await until('the policy holds', 30, () =>
      current()
        .api.request('POST', '/api/v1/namespaces/srcip/pods?dryRun=All', hookPod)
        .then(
          () => false,
          (error: Error) => error.message.includes('not wanted here'),
        ),
    )
    const failed = await helm3('uninstall', 'srcip')
    expect(failed.code).not.toBe(0)
    expect(failed.seconds).toBeLessThan(90)
    expect(failed.stderr).toMatch(/or-run-kubectl-srcip-cleanup/)
    expect(await proxyDeployment()).toBe(true)
    expect(await corefile()).toContain(`rewrite name exact ${shop}`)
    const dns = await srcip('cleanup', '--dns-only', '--stop-run', '--even-in-use', '--yes', '--settle=0')
    expect(dns.code, dns.stderr).toBe(0)
    const gone = await helm3('uninstall', 'srcip', '--no-hooks')
    expect(gone.code, gone.stderr).toBe(0)
    const rest = await srcip('cleanup', '--yes')
    expect(rest.code, rest.stderr).toBe(0)
    expect(await labelled()).toEqual([])
    expect(await leases()).toEqual([])
    expect(await corefile()).toBe(original)
    for (const [path, {metadata}] of noHook) await current().api.request('DELETE', `${path}/${metadata.name}`)

    // and with nothing in the way
    await install(helm3)
    const clean = await helm3('uninstall', 'srcip')
    expect(clean.code, clean.stderr).toBe(0)
    expect(await corefile()).toBe(original)
    await expect.poll(labelled, {timeout: 20_000}).toEqual([])
  })

  /** How often the ConfigMap of cluster DNS was written meanwhile. */
  async function watchWrites(work: () => Promise<void>): Promise<number> {
    const version = async () =>
      (await current().api.get<KubeObject>('/api/v1/namespaces/kube-system/configmaps/coredns')).metadata
        .resourceVersion
    const seen = new Set([await version()])
    let over = false
    const watching = (async () => {
      while (!over) {
        seen.add(await version())
        await sleep(20)
      }
    })()
    await work()
    over = true
    await watching
    return seen.size - 1
  }
})
