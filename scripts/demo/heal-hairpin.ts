import {createHash} from 'node:crypto'
import {mkdtempSync, readFileSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {fileURLToPath} from 'node:url'
import {
  applicationObjects,
  callerPod,
  ingressFor,
  OUTSIDE,
  PRODUCT_IMAGE,
  start,
  until,
  type Bed,
  type ExecResult,
  type KubeObject,
} from '../../test/cluster/bed/index.ts'
import {imageEntrypoint} from '../image/entrypoint.ts'
import {assembleRootfs} from '../image/rootfs.ts'
import {expectThat, type Narrator} from './narrator.ts'
import {PROXY_ARGUMENTS, proxyObjects, rights, RUN_ARGUMENTS, runObjects} from './product-objects.ts'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const shop = 'shop.example.org'
const blog = 'blog.example.org'
const caller = 'shop/caller'

type Scene = {bed: Bed; tell: Narrator}

/** The story of issue and cure on real parts. Throws at the first step that does not hold. */
export async function healHairpin(tell: Narrator): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'srcip-demo-rootfs-'))
  try {
    await tell.step(
      'Assemble the folder that the image holds: Node, the bundle, HAProxy with its libraries',
      async () => {
        const {files, bytes, sha256} = assembleRootfs(repository, folder)
        tell.fact(`${files} files, ${(bytes / 1e6).toFixed(0)} MB, sha256 ${sha256}`)
      },
    )
    await healFrom(folder, tell)
  } finally {
    rmSync(folder, {recursive: true, force: true})
  }
}

/** The story with pods that run from this folder. */
async function healFrom(folder: string, tell: Narrator): Promise<void> {
  const bed = await tell.step('Start etcd, kube-apiserver, CoreDNS 1.14.7 and 1.11.3, nginx (strict), HAProxy', () =>
    start({
      coredns: ['1.14.7', '1.11.3'],
      ingress: 'nginx-strict',
      images: {[PRODUCT_IMAGE]: imageEntrypoint(folder)},
    }),
  )
  const scene = {bed, tell}
  let held = false
  try {
    await tell.step(`Deploy a shop with an Ingress for ${shop}`, () => deployShop(scene))
    await tell.step(`1. A client outside calls https://${shop} through the balancer`, () => outsideWorks(scene))
    await tell.step('2. A pod inside calls the same name and is cut', () => insideFails(scene))
    const before = await corefile(bed)
    tell.fact(`Corefile sha256 ${before.sha256}`)
    await tell.step('3. srcip run and srcip proxy start; the pod gets through', () => heal(scene))
    await tell.step('4. Names follow the Ingresses, with nobody doing anything', () => follow(scene))
    await tell.step('5. clean is refused while run is alive, and puts everything back after it', () =>
      clean(scene, before),
    )
    held = true
  } catch (error) {
    await lastWords(scene)
    throw error
  } finally {
    await bed.stop(held ? {} : {keep: true})
  }
}

const https = (bed: Bed, host: string) => [
  'curl',
  '-sS',
  '-m',
  '10',
  '--cacert',
  bed.authority.cert,
  `https://${host}/`,
]

function shown(host: string): string {
  return `curl -sS --cacert ca.crt https://${host}/`
}

/** The client address that the backend was told of. */
function clientSeen({stdout}: ExecResult): string | undefined {
  try {
    return (JSON.parse(stdout) as {client: string}).client
  } catch {
    return undefined
  }
}

async function deployShop({bed}: Scene): Promise<void> {
  const pair = await bed.authority.issue('shop', {cn: shop, names: [shop, blog]})
  const encode = (file: string) => readFileSync(file).toString('base64')
  const data = {'tls.crt': encode(pair.cert), 'tls.key': encode(pair.key)}
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {name: 'tls', namespace: 'shop'},
    type: 'kubernetes.io/tls',
    data,
  }
  await bed.create(
    {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'shop'}},
    secret,
    ...applicationObjects('shop', 'shop'),
    callerPod('shop', 'caller'),
    ingressFor('shop', 'shop', shop, 'shop', 'tls'),
  )
  await bed.waitReady('shop')
  await until('the ingress serves the shop', 30, async () => (await bed.client.exec(https(bed, shop))).code === 0)
}

async function outsideWorks({bed, tell}: Scene): Promise<void> {
  tell.command(`${shown(shop)}     # on ${OUTSIDE.client}, through HAProxy on ${OUTSIDE.balancer}`)
  const answer = await bed.client.exec(https(bed, shop))
  expectThat(
    clientSeen(answer) === OUTSIDE.client,
    `200 and the client's address ${OUTSIDE.client} at the backend`,
    answer,
  )
  tell.fact(`200, the backend sees ${clientSeen(answer)}`)
}

async function insideFails({bed, tell}: Scene): Promise<void> {
  const {address} = bed.pod(caller)
  tell.command(`${shown(shop)}     # in pod ${caller}, ${address}`)
  const answer = await bed.inPod(caller, https(bed, shop))
  expectThat(answer.code !== 0, 'the call to fail', answer)
  tell.fact(answer.stderr.trim())
  // In front of it nginx prints the bytes that it took for a header; they may hold line feeds.
  const pattern = new RegExp(String.raw`while reading PROXY protocol, client: ${address}\b.*`)
  let reason: string | undefined
  await until('the ingress logs why', 5, async () => {
    const {stdout} = await bed.cli([
      'kubectl',
      'logs',
      '-n',
      'ingress-nginx',
      'deploy/ingress-nginx-controller',
      '--tail=5',
    ])
    reason = pattern.exec(stdout)?.[0]
    return reason !== undefined
  })
  tell.command('kubectl logs -n ingress-nginx deploy/ingress-nginx-controller')
  tell.fact(`[error] broken header: "..." ${reason}`)
}

async function apply({bed}: Scene, objects: KubeObject[]): Promise<void> {
  for (const object of objects) await bed.api.apply(object)
}

async function heal(scene: Scene): Promise<void> {
  const {bed, tell} = scene
  await bed.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'srcip'}})
  await apply(scene, rights())
  tell.command(`kubectl srcip ${PROXY_ARGUMENTS.join(' ')}     # a pod`)
  tell.command(`kubectl srcip ${RUN_ARGUMENTS.join(' ')}     # a pod, in-cluster configuration, rights of charts/srcip`)
  await apply(scene, [...proxyObjects(), ...runObjects()])
  await bed.waitReady('srcip')
  tell.fact('both are ready')
  await answersEverywhere(scene, shop, await proxyAddress(bed), 'the proxy')
  const answer = await bed.inPod(caller, https(bed, shop))
  const {address} = bed.pod(caller)
  tell.command(`${shown(shop)}     # in pod ${caller}`)
  expectThat(clientSeen(answer) === address, `200 and the pod's address ${address} at the backend`, answer)
  tell.fact(`200, the backend sees ${clientSeen(answer)}`)
}

async function follow(scene: Scene): Promise<void> {
  const {bed, tell} = scene
  const ingress = ingressFor('shop', 'blog', blog, 'shop', 'tls')
  tell.command(`kubectl create ingress blog --rule="${blog}/*=shop:80,tls=tls" --class=nginx -n shop`)
  await bed.create(ingress)
  await answersEverywhere(scene, blog, await proxyAddress(bed), 'the proxy')
  const answer = await bed.inPod(caller, https(bed, blog))
  expectThat(clientSeen(answer) === bed.pod(caller).address, `200 from ${blog} inside`, answer)
  tell.fact(`200 from https://${blog}/ inside`)
  tell.command('kubectl delete ingress blog -n shop')
  await bed.api.delete(ingress)
  await answersEverywhere(scene, blog, OUTSIDE.balancer, 'the public address')
}

async function clean(scene: Scene, before: {sha256: string; hashes: string[]}): Promise<void> {
  const {bed, tell} = scene
  const srcipClean = () => bed.cli(['kubectl', 'srcip', 'coredns', 'clean', '--yes'], {timeout: 240_000})
  tell.command('kubectl srcip coredns clean --yes     # while run is alive')
  const refused = await srcipClean()
  expectThat(refused.code === 33, 'exit code 33 while run is alive', refused)
  tell.fact(`exit 33, ${refused.stderr.split('\n').find((line) => line.startsWith('error:'))}`)
  expectThat((await corefile(bed)).sha256 !== before.sha256, 'the Corefile to be as run left it')

  await stopRun(scene)
  tell.command('kubectl srcip coredns clean --yes')
  const cleaned = await srcipClean()
  expectThat(cleaned.code === 0, 'exit code 0', cleaned)
  const after = await corefile(bed)
  expectThat(after.sha256 === before.sha256, `the Corefile of before, sha256 ${before.sha256}`, after.sha256)
  tell.fact(`exit 0, Corefile sha256 ${after.sha256}, as before step 3`)
  expectThat(
    after.hashes.join() === before.hashes.join(),
    'every CoreDNS to run with the configuration of before',
    after.hashes,
  )
  tell.fact('both CoreDNS log that they reloaded and run with the configuration of before')
  const answer = await bed.inPod(caller, https(bed, shop))
  expectThat(answer.code !== 0, 'the call inside to fail again', answer)
  tell.fact(`inside again: ${answer.stderr.trim()}`)
}

async function stopRun({bed, tell}: Scene): Promise<void> {
  const key = [...bed.pods.items.keys()].find((each) => /^srcip\/srcip-[^p]/.test(each)) ?? ''
  const exited = bed.pod(key).containers.get('controller')?.inside.exited
  tell.command('kubectl scale -n srcip deploy/srcip --replicas=0     # SIGTERM')
  const {code, stderr} = await bed.cli(['kubectl', 'scale', '-n', 'srcip', 'deploy/srcip', '--replicas=0'])
  expectThat(code === 0, 'kubectl scale to work', stderr)
  const ended = await exited
  expectThat(ended === 0, 'run to end with exit code 0 after SIGTERM', ended)
  tell.fact('run ended with exit code 0')
}

async function proxyAddress(bed: Bed): Promise<string> {
  const service = await bed.api.get<{spec: {clusterIP: string}}>('/api/v1/namespaces/srcip/services/srcip-proxy')
  return service.spec.clusterIP
}

/** Waits until every CoreDNS pod answers a name with this address, and says after how long each did. */
async function answersEverywhere({bed, tell}: Scene, name: string, address: string, what: string): Promise<void> {
  const begun = performance.now()
  await Promise.all(
    bed.corednsPods().map(async (pod) => {
      await until(`${pod.key} answers ${name} with ${address}`, 90, async () => {
        return (await bed.resolve(name, {server: pod.address})).addresses.includes(address)
      })
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      const version = pod.pod.spec.containers[0]?.image.split(':v')[1]
      tell.fact(`CoreDNS ${version} answers ${name} with ${what} ${address} (${seconds} s)`)
    }),
  )
}

/** What stands in the Corefile now, and the configuration hash that each CoreDNS logged last. */
async function corefile(bed: Bed): Promise<{sha256: string; hashes: string[]}> {
  const map = await bed.api.get<{data: {Corefile: string}}>('/api/v1/namespaces/kube-system/configmaps/coredns')
  const sha256 = createHash('sha256').update(map.data.Corefile).digest('hex')
  const logs = await Promise.all(bed.corednsPods().map(({key}) => bed.podLog(key)))
  const hashes = logs.map((log) => [...log.matchAll(/Running configuration SHA512 = (\w+)/g)].at(-1)?.[1] ?? 'none')
  return {sha256, hashes}
}

/** After a failure: what the product's pods said last. */
async function lastWords({bed, tell}: Scene): Promise<void> {
  for (const key of bed.pods.items.keys()) {
    if (!key.startsWith('srcip/')) continue
    const log = await bed.podLog(key).catch((error: Error) => error.message)
    tell.note(`Last lines of ${key}:`)
    for (const line of log.trim().split('\n').slice(-8)) tell.fact(line)
  }
}
