import {execFile} from 'node:child_process'
import {chmod, copyFile, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {promisify} from 'node:util'
import {afterEach, beforeEach, expect, test} from 'vitest'
import {createKubeClient, loadKubeconfig} from '../../src/kube/index.ts'
import {testAuthority} from '../support/certificates.ts'
import {ConnectProxy} from '../support/connect-proxy.ts'
import {FakeApiServer, sendStatus} from '../support/fake-api-server.ts'
import {describeWithParts} from './bed/suite.ts'

const execute = promisify(execFile)
const caseFolder = new URL('../cases/B55-kubeconfig-exec-credentials/', import.meta.url)

// B55: the kubeconfig of the case, with the proxy's port and the authority put in, read by kubectl and by us.
await describeWithParts('exec credentials as kubectl has them (B55)', ['kubectl', 'openssl'], (parts) => {
  const authority = testAuthority('case')
  let folder: string
  let server: FakeApiServer
  let proxy: ConnectProxy
  let kubeconfig: string

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'exec-credentials-'))
    server = await new FakeApiServer({tls: authority.issue('kube', ['kube.example.org'])}).start()
    proxy = await new ConnectProxy(() => server.port).start()
    kubeconfig = join(folder, 'kubeconfig.yaml')
    const text = (await readFile(new URL('kubeconfig.yaml', caseFolder), 'utf8'))
      .replace('http://192.0.2.2:3128', `http://127.0.0.1:${proxy.port}`)
      .replace('{server:', `{certificate-authority-data: ${Buffer.from(authority.cert).toString('base64')}, server:`)
    await writeFile(kubeconfig, text)
    await copyFile(new URL('issue-token.sh', caseFolder), join(folder, 'issue-token.sh'))
    await chmod(join(folder, 'issue-token.sh'), 0o755)
    // The case's own plugin, noting what it was told.
    const script = await readFile(join(folder, 'issue-token.sh'), 'utf8')
    const note = `printf '%s|%s|%s\\n' "$KUBERNETES_EXEC_INFO" "$AUDIENCE" "$*" >> "$(dirname "$0")/told"\n`
    await writeFile(join(folder, 'issue-token.sh'), script.replace('\n', `\n${note}`))
    // A server that checks the token: it carries the second it was made in.
    server.faults.push((request, response) => {
      const made = /^Bearer t-(\d+)$/.exec(request.headers.authorization ?? '')?.[1]
      if (made !== undefined && Date.now() / 1000 - Number(made) <= 31) return false
      sendStatus(response, 401, {reason: 'Unauthorized'})
      return true
    })
  })
  afterEach(async () => {
    await proxy.stop()
    await server.kill()
    await rm(folder, {recursive: true})
  })

  test('the plugin is told the same, the server is asked the same way', async () => {
    const {stderr} = await execute(parts.kubectl, ['get', '--raw', '/version'], {
      env: {...process.env, HOME: folder, KUBECONFIG: kubeconfig},
      // From another folder: the relative command belongs to the kubeconfig's.
      cwd: '/',
    })
    let shown = ''
    const client = createKubeClient(await loadKubeconfig({kubeconfig}, {}), {
      env: {PATH: process.env['PATH']},
      terminal: {stdinIsTty: false, writeStderr: (chunk) => void (shown += chunk.toString())},
    })
    expect(client.config).toMatchObject({namespace: 'edge', context: 'prod', userName: 'sso'})
    await client.request({path: '/version'})
    client.close()
    // kubectl's encoder ends its JSON with a line feed.
    const told = (await readFile(join(folder, 'told'), 'utf8')).replaceAll('\n|', '|').trim().split('\n')
    expect(told).toHaveLength(2)
    expect(told[1]).toBe(told[0])
    expect(told[0]).toMatch(/\|kube\|--ttl 30$/)
    expect(shown).toBe('open https://login.example.org/device and enter 0000\n')
    expect(stderr).toContain(shown)
    expect(new Set(proxy.seen)).toEqual(new Set(['CONNECT 192.0.2.1:6443']))
    expect(server.requests.at(-1)?.headers.authorization).toMatch(/^Bearer t-\d+$/)
  })

  test('a missing command: both fail, ours shows installHint, nothing is sent', async () => {
    await rm(join(folder, 'issue-token.sh'))
    const failed: unknown = await execute(parts.kubectl, ['get', '--raw', '/version'], {
      env: {HOME: folder, KUBECONFIG: kubeconfig},
    }).catch((error: unknown) => error)
    // kubectl has the hint only for names that it looks up in PATH; here it is of no less use.
    expect((failed as {stderr: string}).stderr).toMatch(/issue-token\.sh: no such file/)
    const client = createKubeClient(await loadKubeconfig({kubeconfig}, {}), {env: {}})
    await expect(client.request({path: '/version'})).rejects.toMatchObject({
      exitCode: 31,
      hints: expect.arrayContaining(['install the example login helper']),
    })
    client.close()
    expect(server.requests).toHaveLength(0)
  })

  test('a token that runs out is replaced before the server sees it late', {timeout: 90_000}, async () => {
    const client = createKubeClient(await loadKubeconfig({kubeconfig}, {}), {
      env: {PATH: process.env['PATH']},
      terminal: {stdinIsTty: false, writeStderr: () => undefined},
    })
    const end = performance.now() + 58_000
    while (performance.now() < end) {
      await client.request({path: '/version'})
      await new Promise((resolve) => setTimeout(resolve, 1000))
    }
    client.close()
    const runs = (await readFile(join(folder, 'told'), 'utf8')).trim().split('\n').length
    expect(runs).toBe(3)
    const tokens = new Set(server.requests.map(({headers}) => headers.authorization))
    expect(tokens.size).toBe(3)
  })
})
