import {mkdirSync, writeFileSync} from 'node:fs'
import type {ChildProcess} from 'node:child_process'
import {join} from 'node:path'
import type {CorednsProcess} from '../../support/coredns-process.ts'
import {startCoredns} from '../../support/coredns-process.ts'

/** One real CoreDNS whose Corefile is what the ConfigMap holds; it is looked at every 300 ms, as kubelet would. */
export class SoakCoredns {
  readonly #options: SoakCorednsOptions
  readonly #end = new AbortController()
  #process: CorednsProcess | undefined
  #text = ''
  #syncing: Promise<void> | undefined

  constructor(options: SoakCorednsOptions) {
    this.#options = options
    mkdirSync(options.folder, {recursive: true})
  }

  async start(): Promise<void> {
    this.#text = await this.#options.corefile()
    await this.restart()
    this.#syncing = this.#sync()
  }

  /** Kills it and starts it anew over the newest file. */
  async restart(): Promise<void> {
    await this.#process?.stop()
    const {binary, folder, guard} = this.#options
    this.#process = await startCoredns({binary, folder, guard, name: 'soak', corefile: this.#text})
    if (!this.#process.serving) throw new Error(`CoreDNS does not serve:\n${this.#process.output()}`)
  }

  async stop(): Promise<void> {
    this.#end.abort()
    await this.#syncing
    await this.#process?.stop()
  }

  async #sync(): Promise<void> {
    while (!this.#end.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, 300))
      // An API server that is away leaves the file as it is.
      const text = await this.#options.corefile().catch(() => undefined)
      if (text === undefined || text === this.#text) continue
      this.#text = text
      writeFileSync(join(this.#options.folder, 'Corefile.soak'), text)
    }
  }
}

export interface SoakCorednsOptions {
  readonly binary: string
  readonly folder: string
  readonly corefile: () => Promise<string>
  readonly guard: (child: ChildProcess) => void
}

/** Cluster DNS on a free port of the loopback. */
export function soakCorefile(ports: {dns: number; metrics: number}, kubeconfig: string): string {
  return `# kept by the operator, revision 0
.:${ports.dns} {
    bind 127.0.0.1
    errors
    prometheus 127.0.0.1:${ports.metrics}
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        kubeconfig ${kubeconfig}
        ttl 5
    }
    cache 2
    reload 2s 1s
    loadbalance
}
`
}
