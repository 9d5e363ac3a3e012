import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import type {RunList} from '../../../src/model/plan.ts'
import {applicationObjects, callerPod, ingressFor, OUTSIDE, type Bed, type KubeObject} from '../bed/index.ts'

const host = 'shop.example.org'

type ConfigMap = KubeObject & {data: Record<string, string>}

/** A plain pair on a bed: an application behind ingress-nginx, somebody outside and somebody inside who call it. */
export class Pair {
  readonly bed: Bed
  #certificate: {readonly key: string; readonly cert: string} | undefined

  constructor(bed: Bed) {
    this.bed = bed
  }

  /** Installs the application, and waits until both sides get an answer. */
  async start(): Promise<void> {
    await this.bed.create(
      {apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'shop'}},
      ...applicationObjects('shop', 'shop'),
      ingressFor('shop', 'shop', host, 'shop'),
      callerPod('shop', 'caller'),
    )
    await this.bed.waitReady('shop')
    await this.bed.waitReady('ingress-nginx')
  }

  /** The command line on the laptop. */
  async srcip(...args: string[]): Promise<{code: number; stdout: string; stderr: string}> {
    const {code, stdout, stderr} = await this.bed.cli(['kubectl', 'srcip', ...args], {timeout: 400_000})
    return {code, stdout, stderr}
  }

  /**
   * The command line behind a proxy that ends it, or the API, at a write (cut-main.ts). `code` is the command's own, or the signal that
   * ended it; `writes` are those that were sent.
   */
  async srcipCut(
    cut: {
      readonly nth: number
      readonly when: 'before' | 'unanswered' | 'after' | 'cut-after' | 'never'
      readonly only?: string
    },
    ...args: string[]
  ): Promise<{code: number | string; stdout: string; stderr: string; writes: readonly string[]}> {
    const {control, authority} = this.bed
    this.#certificate ??= await authority.issue('cut', {cn: 'cut', names: ['127.0.0.1', 'localhost']})
    const order = JSON.stringify({
      ...{api: control.url, ca: authority.cert, kubeconfig: control.kubeconfig('admin')},
      ...this.#certificate,
      ...cut,
    })
    const script = fileURLToPath(new URL('cut-main.ts', import.meta.url))
    const argv = [process.execPath, script, order, 'kubectl', 'srcip', ...args]
    const {stdout, stderr} = await this.bed.cli(argv, {timeout: 400_000})
    const said = /\ncut: (.+)\n$/.exec(stderr)?.[1]
    if (said === undefined) throw new Error(`the proxy has ended early: ${stderr}`)
    const {code, writes} = JSON.parse(said) as {code: number | string; writes: readonly string[]}
    return {code, stdout, stderr, writes}
  }

  /** Status of one fresh connection from outside. */
  async outside(): Promise<string> {
    const to = `${host}:80:${OUTSIDE.balancer}`
    return (await this.bed.client.exec(['curl', ...quiet, '--resolve', to, `http://${host}/`])).stdout
  }

  /** Status of one fresh connection of a pod, by the cluster's own DNS. */
  async inside(): Promise<string> {
    return (await this.bed.inPod('shop/caller', ['curl', ...quiet, `http://${host}/`])).stdout
  }

  async configMap(namespace: string, name: string): Promise<ConfigMap> {
    return await this.bed.api.get<ConfigMap>(`/api/v1/namespaces/${namespace}/configmaps/${name}`)
  }

  async runs(): Promise<RunList['runs']> {
    return (JSON.parse((await this.srcip('runs', '-o', 'json')).stdout) as RunList).runs
  }

  /** Id of the run that was started last. */
  async lastRun(): Promise<string> {
    return (await this.runs()).at(-1)?.id ?? ''
  }

  /** Has the last run reached this step? Read from its record, which moves only before a write: so the step after the last write. */
  async standsAt(step: string): Promise<boolean> {
    const maps = await this.bed.api.list<ConfigMap>('/api/v1/namespaces/kube-system/configmaps')
    const records = maps.filter(({metadata}) => metadata.name.startsWith('srcip-run-'))
    const last = records.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)).at(-1)
    if (last === undefined) return false
    const {cursor} = JSON.parse(last.data['run.json'] ?? '{}') as {cursor: number}
    const {steps} = JSON.parse(last.data['plan.json'] ?? '{}') as {steps: readonly {id: string}[]}
    return steps[cursor + 1]?.id === step
  }

  /** Every write that the API server has audited for the person at the laptop, without dry runs and questions about rights. */
  writes(): string[] {
    return readFileSync(this.bed.control.auditLog, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as AuditEvent)
      .filter(({stage, verb}) => stage === 'ResponseComplete' && ['create', 'update', 'patch', 'delete'].includes(verb))
      .filter(
        ({requestURI, userAgent, user}) =>
          user.username === 'admin' &&
          /kubectl-srcip/.test(userAgent ?? '') &&
          !/dryRun=All|reviews|portforward/.test(requestURI),
      )
      .map(({verb, requestURI}) => `${verb} ${requestURI}`)
  }
}

interface AuditEvent {
  readonly stage: string
  readonly verb: string
  readonly requestURI: string
  readonly userAgent?: string
  readonly user: {readonly username?: string}
}

const quiet = ['-s', '-m', '5', '-o', '/dev/null', '-w', '%{http_code}']
