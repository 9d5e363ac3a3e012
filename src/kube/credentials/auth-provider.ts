import type {RequestOptions} from 'node:https'
import {KubeConfig} from '@kubernetes/client-node'
import type {AuthProviderConfig} from '../types.ts'

/**
 * Asks client-node for the Authorization header of an old `auth-provider` user (gcp, azure, oidc). Kubernetes removed
 * the first two and keeps oidc; they are not worth code of our own. This module is loaded for such users only.
 */
export async function authorizationFromProvider(
  provider: AuthProviderConfig,
  server: string,
): Promise<string | undefined> {
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: [{name: 'cluster', server, skipTLSVerify: false}],
    users: [{name: 'user', authProvider: {name: provider.name, config: {...provider.config}}}],
    contexts: [{name: 'context', cluster: 'cluster', user: 'user'}],
    currentContext: 'context',
  })
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  const headers = options.headers as Readonly<Record<string, string | undefined>> | undefined
  return headers?.['Authorization'] ?? headers?.['authorization']
}
