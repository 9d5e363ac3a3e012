import {createServer, type Server} from 'node:http'
import type {AddressInfo} from 'node:net'

/** One check of `/readyz`: a token for machines and a sentence for people. */
export interface Check {
  readonly name: string
  /** undefined: the check holds. */
  readonly cause: {readonly token: string; readonly message: string} | undefined
}

export interface HealthSource {
  checks(): readonly Check[]
  /** Why the process should be restarted; undefined while it is alive. Never depends on the target. */
  dead(): string | undefined
  metrics(): Promise<string>
}

/**
 * `/livez`, `/readyz` and `/metrics` on an address of their own. The form of the answers is Kubernetes' own: a line for each check, `[+]` or `[-]`.
 */
export class HealthServer {
  readonly #source: HealthSource
  #server: Server | undefined

  constructor(source: HealthSource) {
    this.#source = source
  }

  /** Resolves with the port that was given; rejects with the system's error. */
  async listen(host: string, port: number): Promise<number> {
    const server = createServer((request, response) => {
      const path = (request.url ?? '/').split('?')[0] ?? '/'
      void this.#answer(path).then(([status, body]) => {
        response.writeHead(status, {'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store'})
        response.end(request.method === 'HEAD' ? undefined : body)
      })
    })
    // Nobody who asks for health needs long; a stuck client must not pile up.
    server.requestTimeout = 10_000
    server.maxConnections = 100
    this.#server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, () => resolve((server.address() as AddressInfo).port))
    })
  }

  close(): void {
    this.#server?.close()
    this.#server?.closeAllConnections()
  }

  async #answer(path: string): Promise<[status: number, body: string]> {
    if (path === '/livez' || path === '/healthz') {
      const reason = this.#source.dead()
      return reason === undefined ? [200, 'ok\n'] : [503, `[-]${reason}\n`]
    }
    if (path === '/readyz') return readyz(this.#source.checks())
    if (path === '/metrics') return [200, await this.#source.metrics()]
    return [404, 'not found; there are /livez, /readyz and /metrics\n']
  }
}

/** Status and body of `/readyz`. */
export function readyz(checks: readonly Check[]): [status: number, body: string] {
  const lines = checks.map(({name, cause}) => (cause ? `[-]${name} ${cause.token}: ${cause.message}` : `[+]${name} ok`))
  const isReady = checks.every(({cause}) => cause === undefined)
  return [isReady ? 200 : 503, `${lines.join('\n')}\nreadyz check ${isReady ? 'passed' : 'failed'}\n`]
}
