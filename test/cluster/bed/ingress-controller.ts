import type {ApiClient} from './api-client.ts'
import type {Kubelet} from './kubelet.ts'
import {hasChild} from './namespaces.ts'
import {INGRESS_CLASS, isIngressPod, reloadNginx, writeNginxConfig, type IngressState} from './nginx.ts'
import {keyOf, type ConfigMap, type Ingress, type Pod, type Secret, type Service} from './objects.ts'
import {workLoop, type Store} from './store.ts'

/** Namespace and name of the ingress controller's Deployment, Service and ConfigMap. */
export const INGRESS_OBJECT = 'ingress-nginx/ingress-nginx-controller'

type Settings = {
  api: ApiClient
  kubelet: () => Kubelet
  ingresses: Store<Ingress>
  services: Store<Service>
  secrets: Store<Secret>
  configMaps: Store<ConfigMap>
  pods: Store<Pod>
  certificate: {key: string; cert: string}
  log: (line: string) => void
  end: AbortSignal
}

/** The controller half of the strict ingress: configuration into each nginx pod, addresses into each Ingress. */
export function startIngressController(settings: Settings): {prepare: (pod: Pod, folder: string) => void} {
  const {api, ingresses, services, secrets, configMaps, pods, certificate, log, end} = settings
  const written = new Map<string, string>()
  const state = (): IngressState => ({
    ingresses: [...ingresses.items.values()].toSorted((a, b) => keyOf(a).localeCompare(keyOf(b))),
    services: services.items,
    secrets: secrets.items,
    settings: configMaps.items.get(INGRESS_OBJECT),
    certificate,
  })
  const kick = workLoop(
    'ingress controller',
    async () => {
      for (const [key, pod] of pods.items) {
        const running = isIngressPod(pod) ? settings.kubelet().pod(key) : undefined
        const container = running?.containers.values().next().value
        if (running?.actor === undefined || container === undefined) continue
        // Before nginx has its workers a reload signal would end it; it has read what is there then.
        if (!hasChild(container.inside.pid)) {
          setTimeout(kick, 50).unref()
          continue
        }
        const before = written.get(running.actor.folder)
        const text = writeNginxConfig(running.actor.folder, state(), before)
        written.set(running.actor.folder, text)
        if (text !== before) reloadNginx(container.inside)
      }
      await publish(api, services.items.get(INGRESS_OBJECT), ingresses)
    },
    log,
    end,
  )
  for (const store of [ingresses, services, secrets, configMaps, pods]) store.onChange(kick)
  return {
    prepare(_pod, folder) {
      written.set(folder, writeNginxConfig(folder, state(), undefined))
    },
  }
}

/** Copies the addresses of the controller's Service into the Ingresses of its class. */
async function publish(api: ApiClient, service: Service | undefined, ingresses: Store<Ingress>): Promise<void> {
  const addresses = (service?.status?.loadBalancer?.ingress ?? []).flatMap(({ip}) => (ip === undefined ? [] : [{ip}]))
  for (const ingress of ingresses.items.values()) {
    if (ingress.spec.ingressClassName !== INGRESS_CLASS) continue
    if (JSON.stringify(ingress.status?.loadBalancer?.ingress ?? []) === JSON.stringify(addresses)) continue
    await api.patch(ingress, {status: {loadBalancer: {ingress: addresses}}}, 'status').catch(() => {})
  }
}
