import type {ClusterConfig, RequestSubject} from '../types.ts'
import {KubeFailure} from './failure.ts'
import {contextFlag, oneLine, subjectText} from './subject.ts'

/** What a system or TLS error code means to somebody who did not write Node. */
const meanings: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection was closed',
  ETIMEDOUT: 'no connection within the time limit',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'the network is unreachable',
  ENOTFOUND: 'its name is not known to DNS',
  EAI_AGAIN: 'DNS gave no answer',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by an unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by an unknown authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is signed by an unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is signed by an unknown authority',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port',
  ERR_STREAM_PREMATURE_CLOSE: 'the connection ended in the middle of the answer',
}

/** Where a call was going: enough to write an error about it. */
export interface CallPlace {
  readonly config: ClusterConfig
  readonly about: RequestSubject | undefined
}

/** A connection that could not be made or that broke: exit 30. */
export function networkFailure(error: unknown, place: CallPlace): KubeFailure {
  const {config, about} = place
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? 'EUNKNOWN'
  const noHttp = code.startsWith('HPE_')
  const own = oneLine(error instanceof Error ? error.message : String(error), 200)
  const meaning = noHttp
    ? 'what it answers is no HTTP'
    : (meanings[code] ?? (code === 'EPROXY' ? own : `${own} (${code})`))
  const via = config.proxyUrl === undefined ? '' : ' through the proxy of the kubeconfig'
  return new KubeFailure(`API server ${config.server} cannot be reached${via}: ${meaning}`, {
    kind: noHttp ? 'decode' : 'transport',
    code: 'Unreachable',
    reason: code,
    about,
    hints: [
      ...certificateHints(code, config),
      ['kubectl', ...contextFlag(config), 'get', '--raw', '/readyz'].join(' '),
    ],
    cause: error,
  })
}

function certificateHints(code: string, config: ClusterConfig): string[] {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return ['name the one in the certificate with --tls-server-name']
  if (meanings[code]?.includes('unknown authority') !== true) return []
  const where = config.certificateAuthority === undefined ? '' : ', the configured one did not sign it'
  return [`give its authority with --certificate-authority${where}`]
}

/** A time limit of ours ran out: 124 when the user set it, else the server counts as unreachable. */
export function deadlineFailure(place: CallPlace, ms: number, asked: boolean): KubeFailure {
  return new KubeFailure(
    `no answer from API server ${place.config.server} within ${ms / 1000} s (${subjectText(place.about)})`,
    {
      kind: 'deadline',
      code: asked ? 'Timeout' : 'Unreachable',
      reason: 'Timeout',
      about: place.about,
      hints: [`allow more with --request-timeout=${Math.ceil(ms / 500)}s`],
    },
  )
}

/** The caller, or the end of the client, stopped the call. */
export function abortedFailure(place: CallPlace, reason: unknown): KubeFailure {
  return new KubeFailure(`stopped: ${subjectText(place.about)}`, {
    kind: 'aborted',
    code: 'Interrupted',
    reason: 'Aborted',
    about: place.about,
    cause: reason,
  })
}

/** An answer that is not what it should be. */
export function decodeFailure(place: CallPlace, problem: string, cause?: unknown): KubeFailure {
  return new KubeFailure(`API server ${place.config.server} sent ${problem} (${subjectText(place.about)})`, {
    kind: 'decode',
    code: 'Unreachable',
    reason: 'Undecodable',
    about: place.about,
    hints: ['check that the server address leads to a Kubernetes API and not to a login page or proxy'],
    cause,
  })
}
