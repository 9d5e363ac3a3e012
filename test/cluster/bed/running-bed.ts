import {mkdirSync, readFileSync, symlinkSync} from 'node:fs'
import {join} from 'node:path'
import {setTimeout as sleep} from 'node:timers/promises'
import type {Actor} from './actor.ts'
import type {Balancer} from './balancer.ts'
import type {Bed} from './bed.ts'
import {CLUSTER_DNS} from './cluster-objects.ts'
import type {ControlPlane} from './control-plane.ts'
import {askDns} from './dns-question.ts'
import {productEntry} from './images.ts'
import type {Kubelet} from './kubelet.ts'
import {insideEnvironment, type Namespaces} from './namespaces.ts'
import {hasLabels, isReady, keyOf, type Deployment, type Pod} from './objects.ts'
import type {Store} from './store.ts'

type Pieces = {
  namespaces: Namespaces
  control: ControlPlane
  kubelet: Kubelet
  client: Actor
  laptop: Actor
  balancer: Balancer
  pods: Store<Pod>
  deployments: Store<Deployment>
  settled: () => boolean
  ending: AbortController
  tools: string
}

/** Puts the pieces of a started bed together into what tests use. */
export function runningBed(pieces: Pieces): Bed {
  const {namespaces, control, kubelet, client, laptop, balancer, pods, ending} = pieces
  const {tools} = pieces
  const pod = (key: string) => {
    const found = kubelet.pod(key)
    if (found?.actor === undefined) throw new Error(`pod ${key} does not run in the bed`)
    return found
  }
  const complete = (namespace: string) =>
    [...pieces.deployments.items.values()]
      .filter(({metadata}) => metadata.namespace === namespace)
      .every(({spec, status}) => status?.['readyReplicas'] === spec.replicas || spec.replicas === 0)
  const bed: Bed = {
    folder: namespaces.folder,
    api: control.api,
    authority: control.authority,
    control,
    namespaces,
    kubelet,
    client,
    laptop,
    balancer,
    pods,
    pod,
    corednsPods() {
      const keys = [...pods.items.values()].filter((each) => hasLabels(each, {'k8s-app': 'kube-dns'})).map(keyOf)
      return keys.toSorted().flatMap((key) => kubelet.pod(key) ?? [])
    },
    cli(argv, {user = 'admin', ...options} = {}) {
      const env = {
        PATH: `${tools}:${insideEnvironment()['PATH']}`,
        HOME: join(namespaces.folder, 'laptop-home'),
        KUBECONFIG: control.kubeconfig(user),
        NO_COLOR: '1',
        ...options.env,
      }
      return laptop.exec(argv, {...options, env: insideEnvironment(env)})
    },
    inPod: (key, argv, options) => pod(key).actor!.exec(argv, options),
    resolve: (name, {server = CLUSTER_DNS, type = 'A'} = {}) => askDns(namespaces, server, name, type),
    async podLog(key) {
      const logs = [...pod(key).containers.values()].map(({log}) => readFileSync(log, 'utf8'))
      return logs.join('').replaceAll(/^\S+ /gm, '')
    },
    async create(...objects) {
      for (const object of objects) await control.api.create(object)
    },
    async waitReady(namespace, labels = {}, seconds = 60) {
      const chosen = () =>
        [...pods.items.values()].filter((each) => each.metadata.namespace === namespace && hasLabels(each, labels))
      await until(
        () =>
          `pods of ${namespace} ready (${
            chosen()
              .map((each) => `${each.metadata.name}: ${kubelet.pod(keyOf(each))?.waiting}`)
              .join(', ') || 'none yet'
          })`,
        seconds,
        () => chosen().length > 0 && chosen().every(isReady) && complete(namespace) && pieces.settled(),
      )
    },
    async stop({keep = process.env['SRCIP_BED_KEEP'] === '1'} = {}) {
      ending.abort()
      control.api.close()
      await namespaces.stop({keep})
      if (keep) process.stderr.write(`bed: logs kept in ${namespaces.folder}\n`)
    },
  }
  return bed
}

/** Waits until something holds; the error says what did not, and why it failed the last time. */
export async function until(
  what: string | (() => string),
  seconds: number,
  holds: () => Promise<boolean> | boolean,
): Promise<void> {
  let last = ''
  for (const deadline = Date.now() + seconds * 1000; Date.now() < deadline; await sleep(50)) {
    try {
      if (await holds()) return
    } catch (error) {
      last = `: ${(error as Error).message}`
    }
  }
  throw new Error(`${typeof what === 'string' ? what : what()}: not within ${seconds} s${last}`)
}

/** A folder with the programs that the laptop and the product's pods have on PATH. */
export function toolsFolder(folder: string, kubectl: string): string {
  const tools = join(folder, 'bin')
  mkdirSync(tools)
  mkdirSync(join(folder, 'laptop-home'))
  symlinkSync(kubectl, join(tools, 'kubectl'))
  symlinkSync(process.execPath, join(tools, 'node'))
  symlinkSync(productEntry, join(tools, 'kubectl-srcip'))
  return tools
}
