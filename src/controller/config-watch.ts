import {createReflector, resources} from '../kube/index.ts'
import type {Clock, KubeClient, Log, Reflector} from '../kube/index.ts'

/** Names one ConfigMap. */
export interface ConfigMapName {
  readonly namespace: string
  readonly name: string
}

export interface ConfigWatchOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: () => number
  readonly relistMs: number
  readonly log: Log
  readonly onChange: () => void
}

/**
 * Watches the ConfigMaps that hold our names, each by name so that RBAC can limit the right to it, and tells when one
 * changes: somebody's edit, a re-rendered Corefile, the end of an immutable one. Its content is not kept.
 */
export class ConfigWatch {
  readonly #options: ConfigWatchOptions
  readonly #reflectors = new Map<string, Reflector<true>>()

  constructor(options: ConfigWatchOptions) {
    this.#options = options
  }

  /** From now on exactly these are watched. */
  follow(names: readonly ConfigMapName[]): void {
    const wanted = new Map(names.map((entry) => [`${entry.namespace}/${entry.name}`, entry]))
    for (const [key, reflector] of this.#reflectors) {
      if (wanted.has(key)) continue
      this.#reflectors.delete(key)
      void reflector.stop()
    }
    for (const [key, {namespace, name}] of wanted) {
      if (this.#reflectors.has(key)) continue
      const {client, clock, random, relistMs, log, onChange} = this.#options
      const reflector = createReflector<true>({
        client,
        resource: resources.configMaps,
        namespace,
        fieldSelector: `metadata.name=${name}`,
        project: () => true,
        clock,
        random,
        relistMs,
        log,
        onChange,
      })
      this.#reflectors.set(key, reflector)
      reflector.start()
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#reflectors.values()].map((reflector) => reflector.stop()))
    this.#reflectors.clear()
  }
}
