import {fileURLToPath} from 'node:url'
import {spawn} from 'node:child_process'
import type {ChildProcess} from 'node:child_process'
import {readFileSync} from 'node:fs'
import type {RunOptions} from '../../../src/controller/options.ts'

/** Options as the command would pass them; a test changes what it is about. */
export function runOptions(more: Partial<RunOptions> = {}): RunOptions {
  return {
    kube: {},
    version: '0.0.0',
    env: {},
    target: undefined,
    proxyNamespace: 'srcip',
    families: ['ingress', 'gateway'],
    requiredSources: ['ingresses'],
    ingressClasses: [],
    hosts: [],
    exclude: [],
    wildcards: false,
    before: false,
    writeTo: ['auto'],
    hostsPath: '/etc/hosts',
    externalDns: {as: 'endpoint', name: 'srcip', labels: [], annotations: []},
    dnsService: undefined,
    via: 'direct',
    owner: 'srcip',
    allowEmpty: false,
    relistMs: 3_600_000,
    verifyTimeoutMs: 60_000,
    healthAddress: '127.0.0.1:0',
    once: false,
    dryRun: false,
    logLevel: 'debug',
    logFormat: 'json',
    ...more,
  }
}

export interface LogLine {
  readonly ts: string
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

/** `srcip run` as a process of its own, from its sources or (given arguments) as it is built: what it logs, how it ends. */
export class RunProcess {
  readonly child: ChildProcess
  readonly lines: LogLine[] = []
  readonly exited: Promise<number>
  stderr = ''
  #code: number | undefined

  constructor(options: RunOptions | readonly string[], env: Readonly<Record<string, string>> = {}) {
    const program = `
      const {run} = await import(${JSON.stringify(new URL('../../../src/controller/run.ts', import.meta.url).href)})
      const end = new AbortController()
      for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => end.abort(new Error(name)))
      const options = JSON.parse(process.env.RUN_OPTIONS)
      options.env = process.env
      run(options, {signal: end.signal, writeLog: (line) => process.stderr.write(line)}).then(
        (code) => (process.exitCode = code),
        (error) => {
          process.stderr.write(JSON.stringify({level: 'fatal', msg: error.message}) + '\\n')
          process.exitCode = error.exitCode ?? 1
        },
      )`
    const built = fileURLToPath(new URL('../../../bin/run.js', import.meta.url))
    const isBuilt = Array.isArray(options)
    const argv = isBuilt ? [built, ...(options as readonly string[])] : ['--input-type=module', '-e', program]
    this.child = spawn(process.execPath, argv, {
      env: {PATH: process.env['PATH'] ?? '', HOME: '/nonexistent', ...env, RUN_OPTIONS: JSON.stringify(options)},
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    let rest = ''
    this.child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.stderr += chunk
      const parts = (rest + chunk).split('\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        try {
          this.lines.push(JSON.parse(part) as LogLine)
        } catch {
          this.lines.push({ts: '', level: 'text', msg: part})
        }
      }
    })
    this.exited = new Promise((resolve) =>
      this.child.once('close', (code, signal) => {
        this.#code = code ?? (signal === null ? 1 : 128)
        resolve(this.#code)
      }),
    )
  }

  /** Waits for a line whose message fits; fails when the process ends or the time is over. */
  async said(message: RegExp | string, ms = 30_000, from = 0): Promise<LogLine> {
    const fits = (line: LogLine): boolean =>
      typeof message === 'string' ? line.msg.includes(message) : message.test(line.msg)
    for (const end = Date.now() + ms; ;) {
      const found = this.lines.slice(from).find(fits)
      if (found !== undefined) return found
      if (this.#code !== undefined || Date.now() > end) {
        throw new Error(`not said: ${String(message)} (exit ${this.#code ?? 'none'})\n${this.stderr.slice(-6000)}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  count(message: RegExp): number {
    return this.lines.filter((line) => message.test(line.msg)).length
  }

  /** Resident bytes now. */
  rss(): number {
    const line = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${this.child.pid}/status`, 'utf8'))
    return Number(line?.[1]) * 1024
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number> {
    if (this.#code === undefined) this.child.kill(signal)
    return await this.exited
  }
}
