import {dirname, join, isAbsolute, resolve, sep} from 'node:path'
import type {AuthProviderConfig, ExecConfig, Impersonation, Material, UserConfig} from '../types.ts'
import {
  badConfig,
  base64Field,
  fieldsOf,
  flagField,
  listField,
  mapField,
  textField,
  textListField,
  textListsField,
} from './fields.ts'
import type {Fields, Place} from './fields.ts'

/** `clusters[].cluster`, paths made absolute. */
export interface ClusterEntry {
  readonly server?: string
  readonly certificateAuthority?: Material
  readonly insecureSkipTlsVerify: boolean
  readonly tlsServerName?: string
  readonly proxyUrl?: string
  readonly disableCompression: boolean
  /** `extensions["client.authentication.k8s.io/exec"]`, for exec plugins. */
  readonly execExtension?: unknown
}

/** `contexts[].context`. */
export interface ContextEntry {
  readonly cluster?: string
  readonly user?: string
  readonly namespace?: string
}

/** `users[].user`, paths made absolute. The exec entry is checked when it is used, as kubectl does. */
export interface UserEntry {
  readonly auth: Omit<UserConfig, 'exec'>
  readonly exec?: {readonly fields: Fields; readonly place: Place}
  readonly impersonate: Impersonation
}

/** One kubeconfig file, or several merged. */
export interface Kubeconfig {
  readonly currentContext?: string
  readonly clusters: ReadonlyMap<string, ClusterEntry>
  readonly contexts: ReadonlyMap<string, ContextEntry>
  readonly users: ReadonlyMap<string, UserEntry>
}

/** Kubeconfigs of a few hundred clusters are well under 1 MiB; what is larger is no kubeconfig. */
export const maxKubeconfigBytes = 8 * 1024 * 1024

const execExtensionName = 'client.authentication.k8s.io/exec'

/**
 * Reads one kubeconfig. Relative paths are taken from the file's own folder, as kubectl does.
 * @param text the file's content, treated as hostile: size and aliases are limited, messages name lines and keys, never values
 * @throws SrcipError Usage (2) naming file and line
 */
export async function parseKubeconfig(text: string, file: string): Promise<Kubeconfig> {
  const place: Place = {file, path: ''}
  if (text.length > maxKubeconfigBytes) throw badConfig(place, `is larger than ${maxKubeconfigBytes / 1024 / 1024} MiB`)
  const root = fieldsOf(await parseYaml(text, place), place)
  const currentContext = textField(root, 'current-context', place)
  return {
    ...(currentContext === undefined ? {} : {currentContext}),
    clusters: named(root, 'clusters', 'cluster', place, readCluster),
    contexts: named(root, 'contexts', 'context', place, readContext),
    users: named(root, 'users', 'user', place, readUser),
  }
}

async function parseYaml(text: string, place: Place): Promise<unknown> {
  // Loaded here so that a Pod, which has no kubeconfig, never pays for it.
  const {parseYamlDocument} = await import('./yaml.ts')
  const {document, duplicateKeyLine} = parseYamlDocument(text)
  const [error] = document.errors
  if (error !== undefined) {
    const line = error.linePos?.[0].line
    // The parser's own message quotes the text around the error, which may be a token: only its code is shown.
    const what = error.code.toLowerCase().replaceAll('_', ' ')
    throw badConfig(place, `line ${line ?? '?'} is not valid YAML (${what})`)
  }
  if (duplicateKeyLine !== undefined) {
    throw badConfig(place, `line ${duplicateKeyLine} is not valid YAML (duplicate key)`)
  }
  try {
    return document.toJS({maxAliasCount: 50})
  } catch {
    throw badConfig(place, 'uses more YAML aliases than any kubeconfig needs')
  }
}

/** `[{name, cluster}]` to a map; a name twice in one file is an error for kubectl, too. */
function named<T>(
  root: Fields,
  list: string,
  key: string,
  place: Place,
  read: (fields: Fields, place: Place) => T,
): Map<string, T> {
  const entries = new Map<string, T>()
  for (const item of listField(root, list, place)) {
    const name = textField(item.fields, 'name', item.place) ?? ''
    if (entries.has(name)) throw badConfig(item.place, `name "${name}" occurs twice`)
    entries.set(
      name,
      read(mapField(item.fields, key, item.place) ?? {}, {file: place.file, path: `${item.place.path}.${key}`}),
    )
  }
  return entries
}

function readCluster(fields: Fields, place: Place): ClusterEntry {
  const server = textField(fields, 'server', place)
  const certificateAuthority = material(fields, 'certificate-authority', place)
  const tlsServerName = textField(fields, 'tls-server-name', place)
  const proxyUrl = textField(fields, 'proxy-url', place)
  const extension = listField(fields, 'extensions', place).find(
    (item) => textField(item.fields, 'name', item.place) === execExtensionName,
  )
  return {
    ...(server === undefined ? {} : {server}),
    ...(certificateAuthority === undefined ? {} : {certificateAuthority}),
    insecureSkipTlsVerify: flagField(fields, 'insecure-skip-tls-verify', place),
    ...(tlsServerName === undefined ? {} : {tlsServerName}),
    ...(proxyUrl === undefined ? {} : {proxyUrl}),
    disableCompression: flagField(fields, 'disable-compression', place),
    ...(extension === undefined ? {} : {execExtension: extension.fields['extension']}),
  }
}

function readContext(fields: Fields, place: Place): ContextEntry {
  const cluster = textField(fields, 'cluster', place)
  const user = textField(fields, 'user', place)
  const namespace = textField(fields, 'namespace', place)
  return {
    ...(cluster === undefined ? {} : {cluster}),
    ...(user === undefined ? {} : {user}),
    ...(namespace === undefined ? {} : {namespace}),
  }
}

function readUser(fields: Fields, place: Place): UserEntry {
  const token = textField(fields, 'token', place)
  const tokenFile = textField(fields, 'tokenFile', place)
  const username = textField(fields, 'username', place)
  const password = textField(fields, 'password', place)
  const clientCertificate = material(fields, 'client-certificate', place)
  const clientKey = material(fields, 'client-key', place)
  const provider = mapField(fields, 'auth-provider', place)
  const exec = mapField(fields, 'exec', place)
  const as = textField(fields, 'as', place)
  const uid = textField(fields, 'as-uid', place)
  return {
    auth: {
      ...(token === undefined ? {} : {token}),
      ...(tokenFile === undefined ? {} : {tokenFile: absolute(tokenFile, place.file)}),
      ...(username === undefined ? {} : {username}),
      ...(password === undefined ? {} : {password}),
      ...(clientCertificate === undefined ? {} : {clientCertificate}),
      ...(clientKey === undefined ? {} : {clientKey}),
      ...(provider === undefined ? {} : {authProvider: readAuthProvider(provider, place)}),
    },
    ...(exec === undefined ? {} : {exec: {fields: exec, place: {file: place.file, path: `${place.path}.exec`}}}),
    impersonate: {
      ...(as === undefined ? {} : {user: as}),
      ...(uid === undefined ? {} : {uid}),
      groups: textListField(fields, 'as-groups', place),
      extra: textListsField(fields, 'as-user-extra', place),
    },
  }
}

function readAuthProvider(fields: Fields, place: Place): AuthProviderConfig {
  return {name: textField(fields, 'name', place) ?? '', config: mapField(fields, 'config', place) ?? {}}
}

/**
 * Checks an exec entry and completes it (client-go tools/clientcmd/validation.go).
 * @param clusterExtension what the cluster entry holds for exec plugins
 */
export function readExec(fields: Fields, place: Place, clusterExtension: unknown): ExecConfig {
  const apiVersion = textField(fields, 'apiVersion', place)
  if (apiVersion !== 'client.authentication.k8s.io/v1' && apiVersion !== 'client.authentication.k8s.io/v1beta1') {
    throw badConfig(place, 'apiVersion must be client.authentication.k8s.io/v1 or client.authentication.k8s.io/v1beta1')
  }
  const command = textField(fields, 'command', place)
  if (command === undefined) throw badConfig(place, 'command is missing')
  const mode =
    textField(fields, 'interactiveMode', place) ?? (apiVersion.endsWith('v1beta1') ? 'IfAvailable' : undefined)
  if (mode !== 'Never' && mode !== 'IfAvailable' && mode !== 'Always') {
    throw badConfig(place, 'interactiveMode must be Never, IfAvailable or Always')
  }
  const env = listField(fields, 'env', place).map((item) => {
    const name = textField(item.fields, 'name', item.place)
    if (name === undefined) throw badConfig(item.place, 'name is missing')
    return {name, value: textField(item.fields, 'value', item.place) ?? ''}
  })
  const installHint = textField(fields, 'installHint', place)
  return {
    apiVersion,
    // A bare name is looked up in PATH; anything with a separator belongs to the kubeconfig's folder.
    command: command.includes(sep) || command.includes('/') ? absolute(command, place.file) : command,
    args: textListField(fields, 'args', place),
    env,
    ...(installHint === undefined ? {} : {installHint}),
    provideClusterInfo: flagField(fields, 'provideClusterInfo', place),
    interactiveMode: mode,
    ...(clusterExtension === undefined ? {} : {clusterExtension}),
  }
}

function material(fields: Fields, key: string, place: Place): Material | undefined {
  const data = base64Field(fields, `${key}-data`, place)
  if (data !== undefined) return {data}
  const file = textField(fields, key, place)
  return file === undefined ? undefined : {file: absolute(file, place.file)}
}

function absolute(path: string, kubeconfig: string): string {
  return isAbsolute(path) ? path : join(dirname(resolve(kubeconfig)), path)
}
