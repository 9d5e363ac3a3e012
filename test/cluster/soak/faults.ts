import {setTimeout as sleep} from 'node:timers/promises'
import {killInside} from '../bed/actor.ts'
import type {Bed} from '../bed/index.ts'
import type {World} from './world.ts'

/** Something that goes wrong in a cluster now and then. Resolves when it is over; what it leaves behind is for `run` and `proxy` to cope with. */
export interface Fault {
  readonly name: string
  /** Names may be away until everything has settled again. */
  readonly breaksNames?: boolean
  /** Connections may fail while it lasts. */
  readonly breaksConnections?: boolean
  happen(world: World): Promise<void>
}

const binding = {apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding'}

/** Every fault; the soak draws from them. */
export const faults: readonly Fault[] = [
  {
    name: 'the API server is killed and starts anew',
    happen: ({bed}) => bed.control.restartServer(),
  },
  {
    name: 'etcd is compacted',
    async happen({bed}) {
      const etcd = async (path: string, body: object): Promise<string> =>
        bed.namespaces.run(['curl', '-sS', '-m', '10', '-d', JSON.stringify(body), `http://127.0.0.1:2379/v3/${path}`])
      const answer = JSON.parse(await etcd('kv/range', {key: 'AA=='})) as {header: {revision: string}}
      await etcd('kv/compaction', {revision: answer.header.revision, physical: true})
    },
  },
  {
    name: 'a third of the packets gets lost',
    breaksConnections: true,
    async happen({bed, random}) {
      const rule = ['FORWARD', '-m', 'statistic', '--mode', 'random', '--probability', '0.3', '-j', 'DROP']
      await bed.namespaces.run(['iptables', '-t', 'mangle', '-A', ...rule])
      await sleep(2000 + random.below(2000))
      await bed.namespaces.run(['iptables', '-t', 'mangle', '-D', ...rule])
    },
  },
  {
    name: 'somebody edits the Corefile outside of our block',
    async happen(world) {
      await world.editCorefile((text) => {
        const seconds = 31 + world.random.below(60)
        return text.replace(/cache \d+ \{/, `cache ${seconds} {`)
      })
    },
  },
  {
    name: 'somebody takes a line out of our block',
    breaksNames: true,
    async happen(world) {
      await world.editCorefile((text) => text.replace(/^ +rewrite name exact [^\n]*\n/m, ''), {ours: true})
    },
  },
  {
    name: 'a CoreDNS is killed',
    breaksNames: true,
    breaksConnections: true,
    async happen({bed, random}) {
      killContainer(bed, random.pick(bed.corednsPods().map(({key}) => key)), 'coredns')
    },
  },
  {
    name: 'the right to list Ingresses is taken away for a while',
    async happen({bed, random}) {
      const path = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings'
      const {items} = await bed.api.get<{items: {metadata: {name: string}; roleRef: object; subjects: object[]}[]}>(
        path,
      )
      const ours = items.filter(({metadata}) => metadata.name.startsWith('srcip'))
      for (const {metadata} of ours) await bed.api.delete({...binding, metadata: {name: metadata.name}})
      await sleep(2000 + random.below(3000))
      for (const {metadata, roleRef, subjects} of ours)
        await bed.api.create({...binding, metadata: {name: metadata.name}, roleRef, subjects})
    },
  },
  {
    name: 'the ingress is killed',
    breaksConnections: true,
    async happen({bed, random}) {
      const keys = [...bed.pods.items.keys()].filter((key) => key.startsWith('ingress-nginx/'))
      killContainer(bed, random.pick(keys), 'controller')
    },
  },
  {
    name: 'a storm of connections',
    async happen(world) {
      await world.storm(150)
    },
  },
  {
    name: 'nothing at all',
    happen: async () => undefined,
  },
]

function killContainer(bed: Bed, key: string, name: string): void {
  const container = bed.pod(key).containers.get(name) ?? [...bed.pod(key).containers.values()][0]
  if (container !== undefined) killInside(container.inside, 'SIGKILL')
}
