import {readFile, stat} from 'node:fs/promises'
import type {ClusterConfig} from '../types.ts'

/** Where kubelet puts the service account (KEP-1205); a test may put it elsewhere. */
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * The configuration that every Pod is given: address from the environment, token and CA from files that kubelet renews.
 * @returns undefined when this is no Pod with a service account
 */
export async function inClusterConfig(
  env: Readonly<Record<string, string | undefined>>,
  folder: string = serviceAccountFolder,
): Promise<ClusterConfig | undefined> {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? ''
  const port = env['KUBERNETES_SERVICE_PORT'] ?? ''
  if (host === '' || port === '') return undefined
  const tokenFile = `${folder}/token`
  if (!(await isFile(tokenFile))) return undefined
  const authority = `${folder}/ca.crt`
  const namespace = env['POD_NAMESPACE'] ?? ''
  return {
    source: 'in-cluster',
    namespace: namespace === '' ? await ownNamespace(folder) : namespace,
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    // Without the file client-go falls back to the system's roots, too.
    ...((await isFile(authority)) ? {certificateAuthority: {file: authority}} : {}),
    insecureSkipTlsVerify: false,
    // On a cluster network compressing costs more time than it saves.
    disableCompression: true,
    user: {tokenFile},
    impersonate: {groups: [], extra: {}},
  }
}

async function ownNamespace(folder: string): Promise<string> {
  try {
    const text = (await readFile(`${folder}/namespace`, 'utf8')).trim()
    return text === '' ? 'default' : text
  } catch {
    return 'default'
  }
}

async function isFile(path: string): Promise<boolean> {
  try {
    return !(await stat(path)).isDirectory()
  } catch {
    return false
  }
}
