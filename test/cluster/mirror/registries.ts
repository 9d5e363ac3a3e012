import {type ChildProcess, spawn} from 'node:child_process'
import {createServer} from 'node:net'
import {mkdirSync, writeFileSync, openSync, closeSync, readFileSync} from 'node:fs'
import {join} from 'node:path'
import {stateFolder} from '../bed/state-folder.ts'

/** A registry process on loopback. */
export interface TestRegistry {
  /** `127.0.0.1:PORT` */
  readonly host: string
  readonly log: string
  /** Requests answered so far, from its own access log; only for docker-registry and distribution. */
  requests(pattern?: RegExp): number
  process: ChildProcess
  restart(): Promise<void>
}

/** Starts registries below one state folder; everything ends with `stop`. */
export class Registries {
  readonly #folder = stateFolder('registries')
  #count = 0

  get path(): string {
    return this.#folder.path
  }

  /** docker-registry 2.8 or distribution 3. `extra` is YAML added to its configuration; `storage` wipes with the folder. */
  async start(
    binary: string,
    options: {readonly extra?: string; readonly http?: string; readonly tls?: boolean; readonly port?: number} = {},
  ): Promise<TestRegistry> {
    const port = options.port ?? (await freePort())
    const home = join(this.#folder.path, `registry-${this.#count++}`)
    mkdirSync(join(home, 'storage'), {recursive: true})
    const config = [
      'version: 0.1',
      'log: {level: info, accesslog: {disabled: false}}',
      `storage: {filesystem: {rootdirectory: ${JSON.stringify(join(home, 'storage'))}}, delete: {enabled: true}}`,
      'http:',
      `  addr: 127.0.0.1:${port}`,
      '  secret: test',
      options.http ?? '',
      options.extra ?? '',
    ].join('\n')
    writeFileSync(join(home, 'config.yml'), config)
    return this.#run(binary, ['serve', join(home, 'config.yml')], home, port, options.tls === true)
  }

  /** The in-memory registry with the referrers API. */
  async startReferrers(binary: string): Promise<TestRegistry> {
    const port = await freePort()
    const home = join(this.#folder.path, `registry-${this.#count++}`)
    mkdirSync(home, {recursive: true})
    return this.#run(binary, [`127.0.0.1:${port}`], home, port, false)
  }

  async #run(binary: string, args: string[], home: string, port: number, tls: boolean): Promise<TestRegistry> {
    const log = join(home, 'log')
    const launch = async (): Promise<ChildProcess> => {
      const out = openSync(log, 'a')
      const child = spawn(binary, args, {
        stdio: ['ignore', out, out],
        env: {...process.env, OTEL_TRACES_EXPORTER: 'none', HOME: home},
      })
      closeSync(out)
      this.#folder.guard(child)
      await untilAnswers(port, tls, () => (child.exitCode !== null ? readFileSync(log, 'utf8') : undefined))
      return child
    }
    const registry: TestRegistry = {
      host: `127.0.0.1:${port}`,
      log,
      requests: (pattern = /"(?:GET|HEAD|PUT|POST|PATCH|DELETE) \/v2\/\S+ HTTP/) =>
        readFileSync(log, 'utf8')
          .split('\n')
          .filter((line) => pattern.test(line)).length,
      process: await launch(),
      async restart() {
        registry.process.kill('SIGKILL')
        registry.process = await launch()
      },
    }
    return registry
  }

  guard(child: ChildProcess): void {
    this.#folder.guard(child)
  }

  stop(): void {
    this.#folder.release()
  }
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const {port} = server.address() as {port: number}
      server.close(() => resolve(port))
    })
  })
}

async function untilAnswers(port: number, tls: boolean, died: () => string | undefined): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const log = died()
    if (log !== undefined) throw new Error(`the registry ended: ${log.slice(-500)}`)
    const up = tls
      ? await canConnect(port)
      : await fetch(`http://127.0.0.1:${port}/v2/`).then(
          () => true,
          () => false,
        )
    if (up) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`no registry on port ${port} after 15 s`)
}

async function canConnect(port: number): Promise<boolean> {
  const {connect} = await import('node:net')
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
