import {execFile, spawn} from 'node:child_process'
import {existsSync} from 'node:fs'
import {setTimeout as sleep} from 'node:timers/promises'
import {promisify} from 'node:util'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {API_SERVER_PARTS, startApiServer, type ApiServer} from './bed/index.ts'
import {describeWithParts} from './bed/suite.ts'

const execute = promisify(execFile)

await describeWithParts('the light API server', [...API_SERVER_PARTS, 'kubectl'], (parts) => {
  let api: ApiServer
  beforeAll(async () => {
    api = await startApiServer({users: [{name: 'reader', groups: ['readers']}]})
  })
  afterAll(() => api?.stop())

  const kubectl = (kubeconfig: string, ...args: string[]) =>
    execute(parts.kubectl, args, {env: {HOME: api.folder, KUBECONFIG: kubeconfig}})

  test('answers its administrator', async () => {
    const {stdout} = await kubectl(api.kubeconfig, 'get', 'namespace', 'kube-system', '-o', 'name')
    expect(stdout).toBe('namespace/kube-system\n')
  })

  test('knows users and groups, and RBAC holds for them', async () => {
    const reader = api.kubeconfigFor({user: 'reader'})
    await expect(kubectl(reader, 'get', 'configmaps', '-A')).rejects.toThrow(/Forbidden/)
    await kubectl(api.kubeconfig, 'create', 'clusterrole', 'read', '--verb=list', '--resource=configmaps')
    await kubectl(api.kubeconfig, 'create', 'clusterrolebinding', 'read', '--clusterrole=read', '--group=readers')
    const list = async () =>
      (await kubectl(reader, 'get', 'configmaps', '-A', '-o', 'name').catch(() => undefined))?.stdout
    await expect.poll(list, {timeout: 10_000}).toMatch(/configmap/)
  })

  test('leaves neither processes nor files when its test is killed', {timeout: 120_000}, async () => {
    const program = `
      const {startApiServer} = await import(${JSON.stringify(new URL('bed/index.ts', import.meta.url).href)})
      const {folder} = await startApiServer()
      console.log(folder)
      setInterval(() => {}, 1000)`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const folder = await new Promise<string>((resolve) =>
      child.stdout.once('data', (data) => resolve(String(data).trim())),
    )
    expect(existsSync(folder)).toBe(true)
    child.kill('SIGKILL')
    await expect.poll(() => existsSync(folder), {timeout: 5000}).toBe(false)
    await sleep(100)
    const {stdout} = await execute('ps', ['-eo', 'args'])
    expect(stdout).not.toContain(folder.replace(/\/files$/, ''))
  })
})
