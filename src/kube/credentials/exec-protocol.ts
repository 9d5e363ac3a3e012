import {KubeFailure} from '../failures/failure.ts'
import type {ExecConfig} from '../types.ts'
import type {Credential} from './types.ts'

/** `spec.cluster` of an ExecCredential: the kubeconfig's cluster entry with the CA as data. */
export interface ExecCluster {
  readonly server: string
  readonly 'tls-server-name'?: string
  readonly 'insecure-skip-tls-verify'?: boolean
  readonly 'certificate-authority-data'?: string
  readonly 'proxy-url'?: string
  readonly 'disable-compression'?: boolean
  readonly config: unknown
}

/** The JSON for KUBERNETES_EXEC_INFO, with the fields in client-go's order. */
export function execInfo(exec: ExecConfig, interactive: boolean, cluster: ExecCluster | undefined): string {
  const spec = {...(cluster === undefined ? {} : {cluster}), interactive}
  return JSON.stringify({kind: 'ExecCredential', apiVersion: exec.apiVersion, spec})
}

/** A failure of the plugin; what it printed on stdout is never shown, it may be a token. */
export function pluginFailure(
  exec: ExecConfig,
  problem: string,
  hints: readonly string[] = [],
  cause?: unknown,
): KubeFailure {
  return new KubeFailure(`exec plugin ${exec.command} ${problem}`, {
    kind: 'transport',
    code: 'Denied',
    reason: 'ExecPlugin',
    hints,
    object: exec.command,
    cause,
  })
}

/**
 * Reads what a plugin printed, with client-go's checks.
 * @returns the credential and its expiry in milliseconds since 1970, where there is one
 */
export function parseExecCredential(
  output: string,
  exec: ExecConfig,
): {credential: Credential; expiresAt: number | undefined} {
  let answer: unknown
  try {
    answer = JSON.parse(output)
  } catch (error) {
    // The parser's message quotes its input.
    throw pluginFailure(exec, 'printed something that is no JSON', [], (error as Error).name)
  }
  if (!isMap(answer) || answer['kind'] !== 'ExecCredential')
    throw pluginFailure(exec, 'did not print an ExecCredential')
  if (answer['apiVersion'] !== exec.apiVersion) {
    throw pluginFailure(exec, `answered in another API version than ${exec.apiVersion}`, [
      'make apiVersion in the kubeconfig fit the plugin',
    ])
  }
  const status = answer['status']
  if (!isMap(status)) throw pluginFailure(exec, 'returned no status')
  const token = text(status['token'])
  const cert = text(status['clientCertificateData'])
  const key = text(status['clientKeyData'])
  if ((cert === undefined) !== (key === undefined))
    throw pluginFailure(exec, 'returned a certificate or a key, but not both')
  if (token === undefined && cert === undefined) throw pluginFailure(exec, 'returned neither a token nor a certificate')
  // A line break would let the plugin write further headers.
  if (token !== undefined && /[^\x20-\x7e]/.test(token))
    throw pluginFailure(exec, 'returned a token with characters that no header can hold')
  return {
    credential: {
      ...(token === undefined ? {} : {authorization: `Bearer ${token}`}),
      ...(cert === undefined || key === undefined ? {} : {pair: {cert, key}}),
    },
    expiresAt: expiry(status['expirationTimestamp'], exec),
  }
}

function expiry(value: unknown, exec: ExecConfig): number | undefined {
  if (value === undefined || value === null) return undefined
  // metav1.Time is RFC 3339.
  const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/
  const time = typeof value === 'string' && rfc3339.test(value) ? Date.parse(value.toUpperCase()) : Number.NaN
  if (Number.isNaN(time)) throw pluginFailure(exec, 'returned an expirationTimestamp that is no RFC 3339 time')
  return time
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
