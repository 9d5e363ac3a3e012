import type {KubeClient, Resource} from '../../kube/types.ts'
import {SrcipError} from '../../model/errors.ts'
import {
  type AuthFile,
  type CredentialSource,
  credentialsFromSecrets,
  parseAuthFile,
} from '../../registry/auth/credential-files.ts'

/** Not among the kinds that the product reads elsewhere: Secrets are read here only, and only when asked to. */
const secretResource: Resource = {group: '', version: 'v1', plural: 'secrets', kind: 'Secret', namespaced: true}

interface SecretShape {
  readonly type?: string
  readonly data?: Readonly<Record<string, string | undefined>>
}

/** The logins of pull secrets (`NAMESPACE/NAME`), read as the kubelet reads them. Their content is never shown. */
export async function pullSecretLogins(
  client: KubeClient,
  names: readonly string[],
  signal: AbortSignal,
): Promise<CredentialSource> {
  const secrets = []
  for (const text of names) {
    const [namespace, name, ...rest] = text.split('/')
    if (namespace === undefined || name === undefined || rest.length > 0)
      throw new SrcipError('Usage', `--pull-secret expects NAMESPACE/NAME, not ${JSON.stringify(text)}`)
    const secret = await client.get<SecretShape>(secretResource, {namespace, name}, {signal})
    secrets.push({name: text, file: fileOf(secret, text)})
  }
  return credentialsFromSecrets(secrets)
}

function fileOf({type, data}: SecretShape, name: string): AuthFile {
  const decode = (key: string): string | undefined => {
    const value = data?.[key]
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8')
  }
  const config = decode('.dockerconfigjson')
  if (config !== undefined) return parseAuthFile(config, `secret ${name}`)
  const old = decode('.dockercfg')
  // The old form is the map of hosts without the wrapper.
  if (old !== undefined)
    return {auths: parseAuthFile(old, `secret ${name}`) as unknown as NonNullable<AuthFile['auths']>}
  throw new SrcipError('Precondition', `secret ${name} is no pull secret: its type is ${type ?? 'unknown'}`, {
    object: `secret/${name}`,
  })
}
