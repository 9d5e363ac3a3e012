import {readFile} from 'node:fs/promises'
import {homedir} from 'node:os'
import {delimiter, join, resolve} from 'node:path'
import {SrcipError} from '../../model/errors.ts'
import type {ClusterConfig, KubeFlags, Material, UserConfig} from '../types.ts'
import {parseRequestTimeout} from './duration.ts'
import {inClusterConfig} from './in-cluster.ts'
import {parseKubeconfig, readExec} from './parse.ts'
import type {ClusterEntry, ContextEntry, Kubeconfig, UserEntry} from './parse.ts'
import {checkProxyUrl, impersonationOf, normalServer} from './settings.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * Finds the cluster, the user and the namespace to work with, by kubectl's rules: `--kubeconfig`, else the files of
 * KUBECONFIG, else `~/.kube/config`; flags win over the files; in a Pod without any kubeconfig, the service account.
 * No file besides the kubeconfigs is read.
 * @param given kubectl's connection flags
 * @param env KUBECONFIG, HOME, HELM_* and what a Pod is given
 * @throws SrcipError Usage (2): nothing configured, does not parse, names something that is not there, or contradicts itself
 */
export async function loadKubeconfig(given: KubeFlags, env: Environment): Promise<ClusterConfig> {
  const flags = withHelmDefaults(given, env)
  const {config, files, missing} = await loadFiles(flags, env)
  const context = chooseContext(config, flags, files)
  const cluster = chooseCluster(config, flags, context.entry, files)
  if (cluster === undefined) {
    const inCluster = await inClusterConfig(env)
    if (inCluster !== undefined) return withInClusterFlags(inCluster, flags)
    throw nothingConfigured(files, missing, config)
  }
  return clusterConfig(config, flags, env, {files, context, cluster})
}

interface Loaded {
  readonly config: Kubeconfig
  readonly files: readonly string[]
  readonly missing: readonly string[]
}

async function loadFiles(flags: KubeFlags, env: Environment): Promise<Loaded> {
  const explicit = given(flags.kubeconfig)
  const list = given(env['KUBECONFIG'])
  const home = given(env['HOME']) ?? given(env['USERPROFILE']) ?? homedir()
  const paths =
    explicit !== undefined
      ? [explicit]
      : list !== undefined
        ? [...new Set(list.split(delimiter).filter((path) => path !== ''))]
        : [join(home, '.kube', 'config')]
  const files: string[] = []
  const missing: string[] = []
  const parsed: Kubeconfig[] = []
  for (const path of paths) {
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code
      if (code === 'ENOENT' && explicit === undefined) {
        missing.push(path)
        continue
      }
      throw new SrcipError('Usage', `kubeconfig ${path} cannot be read (${code ?? 'unknown error'})`, {
        object: path,
        hints: ['name an existing file with --kubeconfig or KUBECONFIG'],
        cause: error,
      })
    }
    parsed.push(await parseKubeconfig(text, path))
    files.push(path)
  }
  return {config: merge(parsed), files, missing}
}

/** The first file that names an entry gives the whole entry; the first current-context counts (kubectl's rule). */
function merge(configs: readonly Kubeconfig[]): Kubeconfig {
  const currentContext = configs.find((config) => config.currentContext !== undefined)?.currentContext
  const backwards = configs.toReversed()
  return {
    ...(currentContext === undefined ? {} : {currentContext}),
    clusters: new Map(backwards.flatMap((config) => [...config.clusters])),
    contexts: new Map(backwards.flatMap((config) => [...config.contexts])),
    users: new Map(backwards.flatMap((config) => [...config.users])),
  }
}

interface ChosenContext {
  readonly name?: string
  readonly entry: ContextEntry
}

function chooseContext(config: Kubeconfig, flags: KubeFlags, files: readonly string[]): ChosenContext {
  const name = given(flags.context) ?? config.currentContext
  if (name === undefined) return {entry: {}}
  const entry = config.contexts.get(name)
  if (entry === undefined) throw notThere('context', name, [...config.contexts.keys()], files)
  return {name, entry}
}

interface Chosen<T> {
  readonly name?: string
  readonly entry: T
}

function chooseCluster(
  config: Kubeconfig,
  flags: KubeFlags,
  context: ContextEntry,
  files: readonly string[],
): Chosen<ClusterEntry> | undefined {
  const name = given(flags.cluster) ?? context.cluster
  const found = name === undefined ? undefined : config.clusters.get(name)
  if (name !== undefined && found === undefined && given(flags.server) === undefined) {
    throw notThere('cluster', name, [...config.clusters.keys()], files)
  }
  if (found === undefined && given(flags.server) === undefined) return undefined
  const entry = found ?? {insecureSkipTlsVerify: false, disableCompression: false}
  return name === undefined ? {entry} : {name, entry}
}

function chooseUser(
  config: Kubeconfig,
  flags: KubeFlags,
  context: ContextEntry,
  files: readonly string[],
): Chosen<UserEntry> {
  const name = given(flags.user) ?? context.user
  const empty: UserEntry = {auth: {}, impersonate: {groups: [], extra: {}}}
  if (name === undefined) return {entry: empty}
  const entry = config.users.get(name)
  if (entry === undefined) {
    // kubectl connects without a user when only the context names it; with --user it is an error.
    if (given(flags.user) !== undefined) throw notThere('user', name, [...config.users.keys()], files)
    return {name, entry: empty}
  }
  return {name, entry}
}

function clusterConfig(
  config: Kubeconfig,
  flags: KubeFlags,
  env: Environment,
  found: {files: readonly string[]; context: ChosenContext; cluster: Chosen<ClusterEntry>},
): ClusterConfig {
  const {files, context, cluster} = found
  const user = chooseUser(config, flags, context.entry, files)
  const source = files.length === 0 ? 'flags' : files.join(', ')
  const trust = trustOf(cluster.entry, flags)
  const server = normalServer(given(flags.server) ?? cluster.entry.server, cluster.name, source)
  const proxyUrl = cluster.entry.proxyUrl
  if (proxyUrl !== undefined) checkProxyUrl(proxyUrl, cluster.name, source)
  const timeout = requestTimeout(flags)
  const tlsServerName =
    given(flags.tlsServerName) ?? (given(flags.server) === undefined ? cluster.entry.tlsServerName : undefined)
  return {
    source,
    ...(context.name === undefined ? {} : {context: context.name}),
    ...(cluster.name === undefined ? {} : {clusterName: cluster.name}),
    ...(user.name === undefined ? {} : {userName: user.name}),
    namespace: given(flags.namespace) ?? context.entry.namespace ?? 'default',
    server,
    ...trust,
    ...(tlsServerName === undefined ? {} : {tlsServerName}),
    ...(proxyUrl === undefined ? {} : {proxyUrl}),
    disableCompression: flags.disableCompression ?? cluster.entry.disableCompression,
    user: userConfig(user, flags, cluster.entry, source),
    impersonate: impersonationOf(user.entry.impersonate, flags, source),
    ...(timeout === undefined ? {} : {requestTimeoutMs: timeout}),
  }
}

/** A trust flag replaces all trust settings of the file; both a CA and no verification contradict each other, as in client-go. */
function trustOf(
  cluster: ClusterEntry,
  flags: KubeFlags,
): {certificateAuthority?: Material; insecureSkipTlsVerify: boolean} {
  const file = given(flags.certificateAuthority)
  const fromFlags = file !== undefined || flags.insecureSkipTlsVerify === true
  const certificateAuthority = fromFlags
    ? file === undefined
      ? undefined
      : {file: resolve(file)}
    : cluster.certificateAuthority
  const insecureSkipTlsVerify = fromFlags ? flags.insecureSkipTlsVerify === true : cluster.insecureSkipTlsVerify
  if (certificateAuthority !== undefined && insecureSkipTlsVerify) {
    throw new SrcipError('Usage', 'a certificate authority and insecure-skip-tls-verify are both set', {
      hints: ['leave out one of the two'],
    })
  }
  return {...(certificateAuthority === undefined ? {} : {certificateAuthority}), insecureSkipTlsVerify}
}

function userConfig(user: Chosen<UserEntry>, flags: KubeFlags, cluster: ClusterEntry, source: string): UserConfig {
  const {entry} = user
  const token = given(flags.token)
  const username = given(flags.username)
  const password = given(flags.password)
  const certificate = given(flags.clientCertificate)
  const key = given(flags.clientKey)
  // A token file would win over --token once it is read again, so it goes with the flag (kubectl keeps it and surprises).
  const {tokenFile, ...rest} = entry.auth
  const merged: UserConfig = {
    ...rest,
    ...(token === undefined ? (tokenFile === undefined ? {} : {tokenFile}) : {token}),
    ...(username === undefined ? {} : {username}),
    ...(password === undefined ? {} : {password}),
    ...(certificate === undefined ? {} : {clientCertificate: {file: resolve(certificate)}}),
    ...(key === undefined ? {} : {clientKey: {file: resolve(key)}}),
    ...(entry.exec === undefined ? {} : {exec: readExec(entry.exec.fields, entry.exec.place, cluster.execExtension)}),
  }
  checkUser(merged, user.name ?? '', source)
  return merged
}

function checkUser(user: UserConfig, name: string, source: string): void {
  const refuse = (problem: string): never => {
    throw new SrcipError('Usage', `kubeconfig ${source}, user "${name}": ${problem}`, {object: source})
  }
  if (user.token !== undefined && (user.username !== undefined || user.password !== undefined)) {
    refuse('token and username are both set, only one is allowed')
  }
  if (user.clientCertificate !== undefined && user.clientKey === undefined) {
    refuse('client-certificate needs client-key or client-key-data')
  }
  if (user.exec !== undefined && user.authProvider !== undefined) refuse('exec and auth-provider exclude each other')
}

function requestTimeout(flags: KubeFlags): number | undefined {
  const text = given(flags.requestTimeout)
  if (text === undefined) return undefined
  const ms = parseRequestTimeout(text)
  if (ms !== undefined) return ms
  throw new SrcipError('Usage', `--request-timeout ${text} is no duration`, {hints: ['--request-timeout=30s']})
}

/** Helm takes kubectl's connection flags for itself and hands them to a plugin in the environment. */
function withHelmDefaults(flags: KubeFlags, env: Environment): KubeFlags {
  if (given(env['HELM_PLUGIN_DIR']) === undefined) return flags
  const groups = given(env['HELM_KUBEASGROUPS'])?.split(',')
  return {
    ...flags,
    context: given(flags.context) ?? given(env['HELM_KUBECONTEXT']),
    namespace: given(flags.namespace) ?? given(env['HELM_NAMESPACE']),
    server: given(flags.server) ?? given(env['HELM_KUBEAPISERVER']),
    token: given(flags.token) ?? given(env['HELM_KUBETOKEN']),
    as: given(flags.as) ?? given(env['HELM_KUBEASUSER']),
    asGroup: flags.asGroup !== undefined && flags.asGroup.length > 0 ? flags.asGroup : groups,
    certificateAuthority: given(flags.certificateAuthority) ?? given(env['HELM_KUBECAFILE']),
    tlsServerName: given(flags.tlsServerName) ?? given(env['HELM_KUBETLS_SERVER_NAME']),
    insecureSkipTlsVerify:
      flags.insecureSkipTlsVerify ?? (env['HELM_KUBEINSECURE_SKIP_TLS_VERIFY'] === 'true' || undefined),
  }
}

function withInClusterFlags(config: ClusterConfig, flags: KubeFlags): ClusterConfig {
  const server = given(flags.server)
  const token = given(flags.token)
  const file = given(flags.certificateAuthority)
  const timeout = requestTimeout(flags)
  return {
    ...config,
    ...(server === undefined ? {} : {server: normalServer(server, undefined, '--server')}),
    ...(token === undefined ? {} : {user: {token}}),
    ...(file === undefined ? {} : {certificateAuthority: {file: resolve(file)}}),
    namespace: given(flags.namespace) ?? config.namespace,
    impersonate: impersonationOf(config.impersonate, flags, config.source),
    ...(timeout === undefined ? {} : {requestTimeoutMs: timeout}),
  }
}

/** kubectl's flags are absent when empty. */
function given(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}

function notThere(what: string, name: string, known: readonly string[], files: readonly string[]): SrcipError {
  const where = files.length === 0 ? 'no kubeconfig was found' : `it is not in ${files.join(', ')}`
  const shown = known.toSorted().slice(0, 10).join(', ')
  return new SrcipError('Usage', `${what} "${name}" does not exist: ${where}`, {
    hints: known.length === 0 ? ['kubectl config view'] : [`known: ${shown}`, `kubectl config get-${what}s`],
  })
}

function nothingConfigured(files: readonly string[], missing: readonly string[], config: Kubeconfig): SrcipError {
  if (files.length === 0) {
    return new SrcipError('Usage', `no kubeconfig found (looked for ${missing.join(', ')})`, {
      hints: ['name one with --kubeconfig or KUBECONFIG, or a server with --server'],
    })
  }
  const contexts = [...config.contexts.keys()].toSorted().slice(0, 10)
  return new SrcipError('Usage', `kubeconfig ${files.join(', ')} names no current context with a cluster`, {
    hints:
      contexts.length === 0
        ? ['kubectl config view']
        : [`choose one with --context: ${contexts.join(', ')}`, 'kubectl config use-context NAME'],
  })
}
