import {createKubeClient, loadKubeconfig, type KubeClient, type KubeFlags} from '../kube/index.ts'
import type {KubeFlagValues} from './flags.ts'

export interface OpenClusterOptions {
  readonly userAgent: string
  /** From 6 on every exchange with the API server is a line on stderr: method, status and seconds, never headers or bodies. */
  readonly verbosity: number
  readonly say: (line: string) => void
}

/** Opens the cluster that flags, `HELM_*` (when Helm runs us) and kubeconfig name. Connects only when the first call is made. */
export async function openCluster(flags: KubeFlagValues, options: OpenClusterOptions): Promise<KubeClient> {
  const config = await loadKubeconfig(toKubeFlags(flags, process.env), process.env)
  return createKubeClient(config, {
    userAgent: options.userAgent,
    onWarning: (text) => options.say(`Warning: ${text}`),
    // As kubectl itself (cli-runtime): a person waits, and the server has limits of its own for each user.
    rate: {perSecond: 50, burst: 300},
    ...(options.verbosity < 6
      ? {}
      : {
          observer: {
            onRequest: ({method, host, verb, code, seconds}) =>
              options.say(`${method} ${host} ${verb}: ${code} in ${Math.round(seconds * 1000)} ms`),
          },
        }),
  })
}

/**
 * Our flags in the words of src/kube. Helm takes `--namespace`, `--kube-context` and the like for itself and passes them on as
 * `HELM_*`; they count below a flag and above the kubeconfig (style.md 3.2).
 */
export function toKubeFlags(
  flags: KubeFlagValues,
  environment: Readonly<Record<string, string | undefined>>,
): KubeFlags {
  const helm = (name: string) => (environment['HELM_PLUGIN_DIR'] ? environment[name] || undefined : undefined)
  const text = (name: keyof KubeFlagValues) => flags[name] as string | undefined
  return {
    kubeconfig: text('kubeconfig'),
    context: text('context') ?? helm('HELM_KUBECONTEXT'),
    cluster: text('cluster'),
    user: text('user'),
    namespace: text('namespace') ?? helm('HELM_NAMESPACE'),
    server: text('server') ?? helm('HELM_KUBEAPISERVER'),
    token: text('token') ?? helm('HELM_KUBETOKEN'),
    clientCertificate: text('client-certificate'),
    clientKey: text('client-key'),
    as: text('as') ?? helm('HELM_KUBEASUSER'),
    asGroup: (flags['as-group'] as readonly string[] | undefined) ?? helm('HELM_KUBEASGROUPS')?.split(','),
    asUid: text('as-uid'),
    certificateAuthority: text('certificate-authority') ?? helm('HELM_KUBECAFILE'),
    insecureSkipTlsVerify:
      (flags['insecure-skip-tls-verify'] as boolean | undefined) ||
      helm('HELM_KUBEINSECURE_SKIP_TLS_VERIFY') === 'true' ||
      undefined,
    tlsServerName: text('tls-server-name') ?? helm('HELM_KUBETLS_SERVER_NAME'),
    requestTimeout: text('request-timeout'),
  }
}
