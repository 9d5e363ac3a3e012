import {createServer, type Server} from 'node:http'
import {createSign, X509Certificate} from 'node:crypto'
import {testAuthority} from '../../support/certificates.ts'

/** A token server that signs what registries of the distribution family check (RS256 or ES256, x5c). */
export interface TokenServer {
  readonly realm: string
  /** PEM of the certificate that the registry trusts. */
  readonly certificate: string
  /** `scope` lists of the requests, and the user of each. */
  readonly asked: {readonly user: string | undefined; readonly scopes: string[]; readonly method: string}[]
  /** Seconds that tokens live, as said and as signed. */
  life: number
  /** Answers the next requests with this status. */
  failures: number[]
  /** Users that may log in; everybody without a login may pull. */
  readonly users: Map<string, string>
  close(): Promise<void>
}

function base64url(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

export async function tokenServer(service: string, options: {readonly anonymousPull: boolean}): Promise<TokenServer> {
  const authority = testAuthority('token signer')
  const der = new X509Certificate(authority.cert).raw.toString('base64')
  const state: Omit<TokenServer, 'realm' | 'close'> = {
    certificate: authority.cert,
    asked: [],
    life: 300,
    failures: [],
    users: new Map(),
  }
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'http://token')
      const form = new URLSearchParams(Buffer.concat(chunks).toString())
      const [scheme, value = ''] = (request.headers.authorization ?? '').split(' ')
      const [user, password] = scheme === 'Basic' ? Buffer.from(value, 'base64').toString().split(':') : []
      const scopes = request.method === 'POST' ? (form.get('scope') ?? '').split(' ') : url.searchParams.getAll('scope')
      const who = form.get('refresh_token') === 'refresh me' ? 'refresher' : user
      state.asked.push({user: who, scopes, method: request.method ?? ''})
      const failure = state.failures.shift()
      const wrong = user !== undefined && state.users.get(user) !== password
      if (failure !== undefined || wrong) {
        response.writeHead(failure ?? 401, {'content-type': 'application/json'})
        response.end('{"errors":[{"code":"UNAUTHORIZED","message":"wrong login"}]}')
        return
      }
      const access = scopes.flatMap((scope) => {
        const [type, name, actions = ''] = scope.split(':')
        const granted = actions
          .split(',')
          .filter((action) => who !== undefined || (options.anonymousPull && action === 'pull'))
        return type === 'repository' && granted.length > 0 ? [{type, name, actions: granted}] : []
      })
      const now = Math.floor(Date.now() / 1000)
      const head = `${base64url({typ: 'JWT', alg: 'ES256', x5c: [der]})}.${base64url({iss: 'issuer', sub: who ?? '', aud: service, exp: now + state.life, nbf: now - 10, iat: now, jti: String(state.asked.length), access})}`
      const signature = createSign('sha256')
        .update(head)
        .sign({key: authority.key, dsaEncoding: 'ieee-p1363'})
        .toString('base64url')
      response.writeHead(200, {'content-type': 'application/json'})
      response.end(JSON.stringify({token: `${head}.${signature}`, expires_in: state.life}))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(state, {
    realm: `http://127.0.0.1:${(server.address() as {port: number}).port}/token`,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  })
}
