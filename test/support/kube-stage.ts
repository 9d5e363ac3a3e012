import {afterEach, beforeEach} from 'vitest'
import {createKubeClient} from '../../src/kube/index.ts'
import type {ClientOptions, ClusterConfig, KubeClient} from '../../src/kube/index.ts'
import {FakeApiServer} from './fake-api-server.ts'
import type {Fault} from './fake-api-server.ts'
import {configFor} from './kube-configs.ts'

/** The ConfigMap that the stage's server holds. */
export const corednsMap = {namespace: 'kube-system', name: 'coredns'}

/** A fake API server with one ConfigMap and a client for it, fresh for each test of the file that calls this. */
export class KubeStage {
  server = new FakeApiServer()
  client!: KubeClient
  readonly #clients: KubeClient[] = []

  constructor() {
    beforeEach(async () => {
      await this.replaceServer(new FakeApiServer())
      this.client = this.connect()
    })
    afterEach(async () => {
      for (const one of this.#clients.splice(0)) one.close()
      await this.server.kill()
    })
  }

  /** Another client; all are closed at the end of the test. */
  connect(config: Partial<ClusterConfig> = {}, options: ClientOptions = {}): KubeClient {
    const made = createKubeClient(configFor(this.server.url, config), {env: {}, rate: 'unlimited', ...options})
    this.#clients.push(made)
    return made
  }

  /** Starts another server in place of the present one. */
  async replaceServer(next: FakeApiServer, port?: number): Promise<void> {
    await this.server.kill()
    this.server = await next.start(port)
    next.objects.put('/v1/configmaps', {metadata: corednsMap, data: {Corefile: '.:53 {}'}})
  }

  /** Applies a fault to the first `times` requests. */
  once(fault: Fault, times = 1): void {
    let left = times
    this.server.faults.push((request, response) => left > 0 && (left -= 1) >= 0 && fault(request, response))
  }
}

/** Ends the connection without a word. */
export const resetIt: Fault = (_, response) => {
  response.socket?.resetAndDestroy()
  return true
}
