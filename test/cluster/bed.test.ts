import {spawn} from 'node:child_process'
import {existsSync, readFileSync, readdirSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'
import {afterEach, beforeAll, expect, test} from 'vitest'
import {
  applicationObjects,
  BED_PARTS,
  bedForSuite,
  callerPod,
  describeWithParts,
  ingressFor,
  kubeadmCorefile,
  OUTSIDE,
  until,
  type Bed,
} from './bed/index.ts'

const corednsMap = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
const ingressMap = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: {name: 'ingress-nginx-controller', namespace: 'ingress-nginx'},
}

/** Hash that a CoreDNS pod logged last for the configuration it runs with. */
async function runningHash(bed: Bed, key: string): Promise<string | undefined> {
  return [...(await bed.podLog(key)).matchAll(/Running configuration SHA512 = (\w+)/g)].at(-1)?.[1]
}

await describeWithParts('the bed', BED_PARTS, async () => {
  const current = await bedForSuite()
  beforeAll(async () => {
    const bed = current()
    await bed.create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'shop'}},
      ...applicationObjects('shop', 'shop'),
      callerPod('shop', 'caller'),
      ingressFor('shop', 'shop', 'shop.example.org', 'shop'),
    )
    await bed.waitReady('shop')
    await until('the ingress serves the shop', 30, async () => (await outside()).code === 0)
  })
  afterEach(async () => {
    await current().balancer.setSendProxy('v2')
    await current().api.patch(ingressMap, {data: {'use-proxy-protocol': 'true'}})
  })

  const curl = () => ['curl', '-sSf', '-m', '5', '--cacert', current().authority.cert, 'https://shop.example.org/']
  const outside = () => current().client.exec(curl())
  const inside = () => current().inPod('shop/caller', curl())
  const kubectl = (...args: string[]) => current().cli(['kubectl', ...args])
  const ingressLog = async () =>
    (await kubectl('logs', '-n', 'ingress-nginx', 'deploy/ingress-nginx-controller', '--tail=20')).stdout

  test('from outside the backend sees the client’s own address', async () => {
    const {stdout} = await outside()
    expect(JSON.parse(stdout)).toMatchObject({client: OUTSIDE.client, host: 'shop.example.org'})
  })

  test('a pod is cut, because its connection never meets the balancer', async () => {
    const {code, stderr} = await inside()
    expect({code, stderr}).toMatchObject({code: 35, stderr: expect.stringContaining('reset by peer')})
    const {address} = current().pod('shop/caller')
    await expect.poll(ingressLog).toMatch(new RegExp(`while reading PROXY protocol, client: ${address},`))
  })

  test('without the PROXY protocol the pod gets in and is seen as itself', async () => {
    await current().api.patch(ingressMap, {data: {'use-proxy-protocol': 'false'}})
    await current().balancer.setSendProxy('off')
    await until('the pod gets in', 10, async () => (await inside()).code === 0)
    expect(JSON.parse((await inside()).stdout)).toMatchObject({client: current().pod('shop/caller').address})
    expect(JSON.parse((await outside()).stdout)).toMatchObject({client: OUTSIDE.balancer})
  })

  test('the balancer speaks both versions of the header', async () => {
    await current().balancer.setSendProxy('v1')
    await sleep(300)
    expect(JSON.parse((await outside()).stdout)).toMatchObject({client: OUTSIDE.client})
  })

  test('the laptop reaches the API and neither pods nor Services', async () => {
    const {address} = current().pod('shop/caller')
    for (const target of [`${address}:8080`, '10.96.0.10:53']) {
      const {code, stderr} = await current().cli(['curl', '-sS', '-m', '3', `http://${target}/`])
      expect({target, code, stderr}).toMatchObject({code: 7, stderr: expect.stringContaining('Failed to connect')})
    }
    expect((await kubectl('get', 'node', '-o', 'name')).stdout).toBe('node/node-1\n')
  })

  test('kubectl exec runs in the pod and hands back its exit code', async () => {
    const {stdout} = await kubectl('exec', '-n', 'shop', 'caller', '--', 'cat', '/etc/resolv.conf')
    expect(stdout).toBe(
      'search shop.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n',
    )
    expect((await kubectl('exec', '-n', 'shop', 'caller', '--', 'sh', '-c', 'exit 7')).code).toBe(7)
  })

  test('kubectl logs follows', async () => {
    const follow = await current().laptop.start(
      ['sh', '-c', `kubectl logs -f --tail=0 -n ingress-nginx deploy/ingress-nginx-controller`],
      {
        env: {
          PATH: `${current().folder}/bin:/usr/bin:/bin`,
          HOME: '/run',
          KUBECONFIG: current().control.kubeconfig('admin'),
        },
      },
    )
    let seen = ''
    follow.child.stdout?.on('data', (data) => (seen += String(data)))
    await sleep(500)
    await outside()
    await expect.poll(() => seen, {timeout: 5000}).toMatch(/203\.0\.113\.7 .* "GET \/ HTTP/)
    follow.child.kill()
  })

  test('kubectl port-forward reaches a port of the pod', async () => {
    const {stdout} = await current().cli([
      'sh',
      '-c',
      `kubectl port-forward -n shop deploy/shop 18080:8080 >/dev/null & p=$!
       for i in $(seq 50); do curl -sf http://127.0.0.1:18080/forwarded && break; sleep 0.1; done; kill $p`,
    ])
    expect(JSON.parse(stdout)).toMatchObject({path: '/forwarded', peer: '127.0.0.1'})
  })

  test('a changed ConfigMap reaches each CoreDNS after its own delay, and both reload', async () => {
    const bed = current()
    const [quick, slow] = bed.corednsPods().map(({key}) => key)
    bed.kubelet.setDelay(slow!, 4000)
    const before = await Promise.all([quick!, slow!].map((key) => runningHash(bed, key)))
    await bed.api.patch(corednsMap, {data: {Corefile: `# changed\n${kubeadmCorefile('2s 1s')}`}})
    const file = (key: string) => readFileSync(`${bed.pod(key).volumeFolder('config-volume')}/Corefile`, 'utf8')
    await until('the quick pod has the file', 3, () => file(quick!).startsWith('# changed'))
    expect(file(slow!)).not.toContain('# changed')
    await until('both have reloaded', 20, async () => {
      const now = await Promise.all([quick!, slow!].map((key) => runningHash(bed, key)))
      return now.every((hash, index) => hash !== before[index]) && now[0] === now[1]
    })
    bed.kubelet.setDelay(slow!, 300)
  })

  test('questions to the DNS Service are shared between its pods', async () => {
    const bed = current()
    const script = 'for i in $(seq 40); do getent ahostsv4 kubernetes.default.svc.cluster.local. >/dev/null; done'
    await bed.inPod('shop/caller', ['sh', '-c', script])
    for (const {address} of bed.corednsPods()) {
      const {stdout} = await bed.inPod('shop/caller', ['curl', '-sS', `http://${address}:9153/metrics`])
      const count = /^coredns_dns_requests_total\{.*proto="udp".*type="A"\S* (\d+)$/m.exec(stdout)?.[1]
      expect(Number(count)).toBeGreaterThan(5)
    }
  })

  test('a Deployment rolls, and what it owned is collected with it', async () => {
    const before = (await kubectl('get', 'pods', '-n', 'shop', '-l', 'app=shop', '-o', 'name')).stdout
    expect((await kubectl('rollout', 'restart', '-n', 'shop', 'deploy/shop')).code).toBe(0)
    const {code, stderr} = await kubectl('rollout', 'status', '-n', 'shop', 'deploy/shop', '--timeout=30s')
    expect({code, stderr}).toMatchObject({code: 0})
    await expect
      .poll(async () => (await kubectl('get', 'pods', '-n', 'shop', '-l', 'app=shop', '-o', 'name')).stdout, {
        timeout: 10_000,
      })
      .not.toContain(before.trim())
    await kubectl('create', 'namespace', 'brief')
    await current().create(callerPod('brief', 'guest'))
    await current().waitReady('brief')
    expect((await kubectl('delete', 'namespace', 'brief', '--timeout=30s')).code).toBe(0)
  })

  test('a pod that ends is started again', async () => {
    const bed = current()
    await bed.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {name: 'short', namespace: 'shop'},
      spec: {
        containers: [{name: 'main', image: 'bed/caller:1', command: ['sh', '-c', 'echo born; sleep 0.2; exit 3']}],
      },
    })
    await expect
      .poll(
        async () =>
          (
            await kubectl(
              'get',
              'pod',
              '-n',
              'shop',
              'short',
              '-o',
              'jsonpath={.status.containerStatuses[0].restartCount}',
            )
          ).stdout,
        {timeout: 15_000},
      )
      .toMatch(/^[1-9]/)
    expect((await kubectl('logs', '-n', 'shop', 'short', '--previous')).stdout).toBe('born\n')
    await kubectl('delete', 'pod', '-n', 'shop', 'short', '--now')
  })
})

await describeWithParts('a bed whose test is killed', BED_PARTS, () => {
  test('leaves neither processes nor files', {timeout: 120_000}, async () => {
    const library = JSON.stringify(new URL('bed/index.ts', import.meta.url).href)
    const program = `const {start} = await import(${library}); console.log((await start()).folder); setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const folder = await new Promise<string>((resolve) =>
      child.stdout.once('data', (data) => resolve(String(data).trim())),
    )
    expect(processesNaming(folder).length).toBeGreaterThan(4)
    child.kill('SIGKILL')
    await expect.poll(() => existsSync(folder), {timeout: 10_000}).toBe(false)
    await expect.poll(() => processesNaming(folder), {timeout: 5000}).toEqual([])
  })
})

/** Command lines of all processes that mention a text. */
function processesNaming(text: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      } catch {
        return []
      }
    })
    .filter((line) => line.includes(text))
}
