import {spawn, type ChildProcess} from 'node:child_process'
import {randomBytes} from 'node:crypto'
import {createWriteStream, readFileSync, writeFileSync} from 'node:fs'
import {get} from 'node:https'
import {createServer, type AddressInfo} from 'node:net'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import {certificateAuthority, signingKey} from './certificates.ts'
import {requirePart} from './parts.ts'
import {folder, stateFolder} from './state-folder.ts'

/** Parts that `startApiServer` needs; for `describeWithParts`. */
export const API_SERVER_PARTS = ['etcd', 'kube-apiserver', 'openssl'] as const

/** A user whom the API server knows by token; `system:masters` among the groups makes an administrator. */
export type User = {name: string; groups?: string[]}

/** A running kube-apiserver with its etcd. */
export type ApiServer = {
  /** `https://127.0.0.1:PORT`. */
  url: string
  port: number
  /** Certificate of the authority that the server's certificate comes from, PEM. */
  ca: string
  caFile: string
  /** Bearer token of the user `admin` (group `system:masters`). */
  adminToken: string
  /** Kubeconfig of `admin`. */
  kubeconfig: string
  /** Bearer token of a further user named in `startApiServer({users})`. */
  tokenOf(user: string): string
  /** Writes a kubeconfig for a user, or for any bearer token, and returns its path. */
  kubeconfigFor(who: {user: string} | {token: string; name: string}, options?: {namespace?: string}): string
  /** Folder for the test's own files; gone after `stop`. */
  folder: string
  /** Logs of etcd and of the API server, for a test that failed. */
  logs(): string
  /** Kills the API server and starts it anew over the same etcd; resolves when it is ready. */
  restart(): Promise<void>
  /** Has etcd forget every version before the newest: who asks for an older one gets 410. */
  compact(): Promise<void>
  /** Ends both processes and removes every file. */
  stop(): Promise<void>
}

/**
 * Starts etcd and kube-apiserver as plain processes on free loopback ports: for tests that need the API and nothing
 * else. Takes about five seconds. A `kill -9` of the test leaves neither processes nor files.
 */
export async function startApiServer(options: {users?: User[]; arguments?: string[]} = {}): Promise<ApiServer> {
  const state = stateFolder('api')
  const [etcdPort, peerPort, port] = await freePorts(3)
  const pki = folder(state.path, 'pki')
  const authority = await certificateAuthority(pki, 'srcip test bed')
  const names = ['127.0.0.1', '10.96.0.1', 'localhost', 'kubernetes.default.svc']
  const serving = await authority.issue('apiserver', {cn: 'kube-apiserver', names})
  const serviceAccounts = await signingKey(join(pki, 'service-accounts.key'))
  const tokens = tokenFile(join(state.path, 'tokens.csv'), options.users ?? [])
  const start = (program: string, args: string[]) => {
    const child = spawn(program, args, {stdio: ['ignore', 'pipe', 'pipe'], cwd: state.path})
    state.guard(child)
    const log = createWriteStream(join(state.path, `${program.split('/').at(-1)}.log`))
    child.stdout.pipe(log, {end: false})
    child.stderr.pipe(log, {end: false})
    return child
  }
  const etcd = start(await requirePart('etcd'), etcdArguments(state.path, '127.0.0.1', etcdPort!, peerPort!))
  const program = await requirePart('kube-apiserver')
  const serverArguments = [
    ...apiServerArguments({etcdPort: etcdPort!, port: port!, bind: '127.0.0.1', serving, serviceAccounts}),
    `--token-auth-file=${tokens.file}`,
    ...(options.arguments ?? []),
  ]
  let server = start(program, serverArguments)
  const url = `https://127.0.0.1:${port}`
  const ca = readFileSync(authority.cert, 'utf8')
  const logs = () => ['etcd', 'kube-apiserver'].map((name) => tail(join(state.path, `${name}.log`))).join('\n')
  const result: ApiServer = {
    url,
    port: port!,
    ca,
    caFile: authority.cert,
    adminToken: tokens.of('admin'),
    kubeconfig: '',
    tokenOf: tokens.of,
    kubeconfigFor(who, {namespace} = {}) {
      const name = 'user' in who ? who.user : who.name
      const token = 'user' in who ? tokens.of(who.user) : who.token
      const file = join(state.path, `${name.replaceAll(/[^\w-]/g, '_')}.kubeconfig`)
      writeFileSync(file, kubeconfigText({url, ca, name, token, namespace}), {mode: 0o600})
      return file
    },
    folder: folder(state.path, 'files'),
    logs,
    async restart() {
      await end(server)
      server = start(program, serverArguments)
      await ready({url, ca, token: tokens.of('admin')}, [etcd, server])
    },
    async compact() {
      const etcdUrl = `http://127.0.0.1:${etcdPort}/v3/kv`
      const ask = async (path: string, body: object) =>
        (await fetch(`${etcdUrl}/${path}`, {method: 'POST', body: JSON.stringify(body)})).json() as Promise<{
          header?: {revision: string}
        }>
      const {header} = await ask('range', {key: Buffer.from('none').toString('base64')})
      if (header === undefined) throw new Error('etcd does not say its revision')
      await ask('compaction', {revision: header.revision, physical: true})
    },
    async stop() {
      await Promise.all([end(server), end(etcd)])
      state.release()
    },
  }
  result.kubeconfig = result.kubeconfigFor({user: 'admin'})
  try {
    await ready({url, ca, token: tokens.of('admin')}, [etcd, server])
  } catch (error) {
    const tails = logs()
    await result.stop()
    throw new Error(`${(error as Error).message}\n${tails}`, {cause: error})
  }
  return result
}

/** Arguments of etcd: in a folder of its own, plain http, without the waits for the disk. */
export function etcdArguments(state: string, address: string, port: number, peerPort: number): string[] {
  const client = `http://${address}:${port}`
  const peer = `http://${address}:${peerPort}`
  return [
    `--data-dir=${join(state, 'etcd-data')}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
    ...['listen-client-urls', 'advertise-client-urls'].map((flag) => `--${flag}=${client}`),
    ...['listen-peer-urls', 'initial-advertise-peer-urls'].map((flag) => `--${flag}=${peer}`),
    `--initial-cluster=default=${peer}`,
  ]
}

/** Arguments of kube-apiserver that both the light and the full bed use. */
export function apiServerArguments(settings: {
  etcdPort: number
  port: number
  bind: string
  serving: {key: string; cert: string}
  serviceAccounts: string
}): string[] {
  return [
    `--etcd-servers=http://127.0.0.1:${settings.etcdPort}`,
    `--secure-port=${settings.port}`,
    `--bind-address=${settings.bind}`,
    `--tls-cert-file=${settings.serving.cert}`,
    `--tls-private-key-file=${settings.serving.key}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${settings.serviceAccounts}`,
    `--service-account-signing-key-file=${settings.serviceAccounts}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=RBAC',
    // Without a controller-manager nobody makes the `default` service accounts that this admission plugin waits for.
    '--disable-admission-plugins=ServiceAccount',
    '--profiling=false',
  ]
}

/** Writes the API server's token file: `admin` and the given users, each with a random token. */
export function tokenFile(file: string, users: User[]): {file: string; of: (user: string) => string} {
  const tokens = new Map<string, string>()
  const lines = [{name: 'admin', groups: ['system:masters']}, ...users].map(({name, groups = []}, index) => {
    const token = randomBytes(16).toString('hex')
    tokens.set(name, token)
    return `${token},${name},u${index},"${groups.join(',')}"`
  })
  writeFileSync(file, `${lines.join('\n')}\n`, {mode: 0o600})
  const of = (user: string) => {
    const token = tokens.get(user)
    if (token === undefined) throw new Error(`the bed has no user ${user}; name it when the API server starts`)
    return token
  }
  return {file, of}
}

/** A kubeconfig with one cluster, one user with a bearer token, and one context named after the user. */
export function kubeconfigText(settings: {
  url: string
  ca: string
  name: string
  token: string
  namespace?: string | undefined
}): string {
  const {url, ca, name, token, namespace} = settings
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{name: 'bed', cluster: {server: url, 'certificate-authority-data': Buffer.from(ca).toString('base64')}}],
    users: [{name, user: {token}}],
    contexts: [{name, context: {cluster: 'bed', user: name, ...(namespace === undefined ? {} : {namespace})}}],
    'current-context': name,
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

/** Waits until `/readyz` answers 200, at most 90 s; throws when one of the processes ends before. */
export async function ready(
  server: {url: string; ca: string; token: string},
  processes: ChildProcess[],
): Promise<void> {
  for (const deadline = Date.now() + 90_000; Date.now() < deadline; await sleep(100)) {
    const dead = processes.find((child) => child.exitCode !== null || child.signalCode !== null)
    if (dead !== undefined) throw new Error(`${dead.spawnfile} ended with code ${dead.exitCode ?? dead.signalCode}`)
    if ((await status(server)) === 200) return
  }
  throw new Error('the API server was not ready after 90 s')
}

function status({url, ca, token}: {url: string; ca: string; token: string}): Promise<number> {
  return new Promise((resolve) => {
    const headers = {authorization: `Bearer ${token}`}
    const request = get(`${url}/readyz`, {ca, headers, agent: false, timeout: 2000}, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(0))
  })
}

/** Ports of the loopback address that were free a moment ago. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({length: count}, async () => {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      return server
    }),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

function tail(file: string): string {
  try {
    return readFileSync(file, 'utf8').split('\n').slice(-40).join('\n')
  } catch {
    return ''
  }
}
