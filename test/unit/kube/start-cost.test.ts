import {execFile} from 'node:child_process'
import {mkdtemp, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {promisify} from 'node:util'
import {expect, test} from 'vitest'

const kube = new URL('../../../src/kube/', import.meta.url).href

/** Runs a program in a Node of its own and tells which packages it loaded. */
async function packagesLoaded(program: string): Promise<string[]> {
  const report = `
    import {registerHooks} from 'node:module'
    const loaded = new Set()
    registerHooks({load: (url, context, next) => {
      const found = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)
      if (found) loaded.add(found[1])
      return next(url, context)
    }})
    const kube = await import(${JSON.stringify(`${kube}index.ts`)})
    ${program}
    console.log(JSON.stringify([...loaded]))`
  const {stdout} = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', report])
  return JSON.parse(stdout) as string[]
}

test('in a Pod a request loads no package at all', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'in-cluster-'))
  await writeFile(join(folder, 'token'), 'abc')
  const loaded = await packagesLoaded(`
    const {inClusterConfig} = await import(${JSON.stringify(`${kube}config/in-cluster.ts`)})
    const config = await inClusterConfig({KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1'}, ${JSON.stringify(folder)})
    const client = kube.createKubeClient(config, {env: {}})
    await client.get(kube.resources.configMaps, {namespace: 'a', name: 'b'}).then(() => { throw new Error('answered') }, (error) => { if (error.reason !== 'ECONNREFUSED') throw error })
    client.close()`)
  await rm(folder, {recursive: true})
  expect(loaded).toEqual([])
})

test('a kubeconfig loads yaml, and client-node only for an old auth-provider', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'))
  const file = join(folder, 'config')
  const payload = Buffer.from(JSON.stringify({exp: 4_000_000_000})).toString('base64url')
  await writeFile(
    file,
    `current-context: c
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {auth-provider: {name: oidc, config: {id-token: "e30.${payload}.x", idp-issuer-url: "https://issuer.example.org", client-id: a}}}}]`,
  )
  const loaded = await packagesLoaded(`
    const config = await kube.loadKubeconfig({kubeconfig: ${JSON.stringify(file)}}, {})
    const before = [...loaded]
    if (before.join() !== 'yaml') throw new Error('loaded ' + before)
    const {createCredentials} = await import(${JSON.stringify(`${kube}credentials/credentials.ts`)})
    const credentials = await createCredentials({config, env: {}, clock: kube.systemClock, terminal: {stdinIsTty: false}})
    const {authorization} = await credentials.current()
    if (!authorization.startsWith('Bearer e30.')) throw new Error('no token')`)
  await rm(folder, {recursive: true})
  expect(loaded).toContain('@kubernetes/client-node')
})
