import {labelSelectorOf, resources, sleep, systemClock, type KubeClient} from '../../kube/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {EventSink} from '../../model/events.ts'
import {refText, type KubeObject} from '../../model/kubernetes.ts'

/** A Deployment of another tool that writes cluster DNS, with the pods it has now. */
export interface OtherController {
  readonly tool: 'ouroboros' | 'hairpin-proxy'
  readonly namespace: string
  readonly name: string
  readonly replicas: number
  readonly pods: readonly string[]
}

interface PodTemplate {
  readonly metadata?: {readonly labels?: Readonly<Record<string, string>>}
  readonly spec?: {
    readonly containers?: readonly {
      readonly image?: string
      readonly command?: readonly string[]
      readonly args?: readonly string[]
    }[]
  }
}

/** Modes of ouroboros that leave cluster DNS alone. */
const elsewhere = /^--?mode=(?:etc-hosts|external-dns)$/

/** Which tool a pod template belongs to, if it is a controller that writes cluster DNS. Also under another image: by label and first word. */
export function toolOf(template: PodTemplate): OtherController['tool'] | undefined {
  for (const {image = '', command = [], args = []} of template.spec?.containers ?? []) {
    if (/(?:^|\/)hairpin-proxy-controller(?:[:@]|$)/.test(image)) return 'hairpin-proxy'
    const words = [...command, ...args]
    const isNamed =
      template.metadata?.labels?.['app.kubernetes.io/name'] === 'ouroboros' || /(?:^|\/)ouroboros(?:[:@]|$)/.test(image)
    if (isNamed && words.includes('controller') && !words.some((word) => elsewhere.test(word))) return 'ouroboros'
  }
  return undefined
}

/** Controllers of ouroboros and hairpin-proxy in the whole cluster, stopped ones too. Needs list of deployments and pods. */
export async function findOtherControllers(client: KubeClient, signal: AbortSignal): Promise<OtherController[]> {
  const {items} = await client.list(resources.deployments, {signal})
  const found: OtherController[] = []
  for (const {metadata, spec} of items as readonly (KubeObject & {readonly spec?: Record<string, unknown>})[]) {
    const tool = toolOf(spec?.['template'] ?? {})
    if (tool === undefined) continue
    const {namespace = 'default', name = ''} = metadata
    const {matchLabels = {}} = (spec?.['selector'] ?? {}) as {matchLabels?: Readonly<Record<string, string>>}
    const labelSelector = labelSelectorOf(matchLabels)
    const pods = await client.list(resources.pods, {namespace, labelSelector, signal})
    const running = pods.items.filter((pod) => {
      const {phase} = (pod['status'] ?? {}) as {phase?: string}
      return phase !== 'Succeeded' && phase !== 'Failed'
    })
    const replicas = typeof spec?.['replicas'] === 'number' ? spec['replicas'] : 1
    found.push({
      tool,
      namespace,
      name,
      replicas,
      pods: running.map((pod) => refText({...pod, kind: 'Pod', namespace, name: pod.metadata.name ?? ''})),
    })
  }
  return found
}

/** Throws 33 while another controller has a pod: it would write its lines again. */
export function refuseRunning(controllers: readonly OtherController[]): void {
  const running = controllers.find(({pods}) => pods.length > 0)
  if (running === undefined) return
  const {tool, namespace, name, pods} = running
  throw new SrcipError('Conflict', `${pods[0]} of ${tool} is running and would write its lines again`, {
    object: `deployment/${namespace}/${name}`,
    hints: [
      'add --stop-other to scale it to 0 first',
      `or do it yourself: kubectl -n ${namespace} scale deployment/${name} --replicas=0`,
    ],
  })
}

/** Milliseconds between looks at pods that are going away. */
const lookEveryMs = 1000

/** Scales controllers to 0 and waits until no pod of theirs is left; the signal (and --timeout) ends the wait. */
export async function stopOthers(
  client: KubeClient,
  controllers: readonly OtherController[],
  onEvent: EventSink,
  signal: AbortSignal,
): Promise<void> {
  for (const {namespace, name, tool, replicas} of controllers) {
    const title = `scale deployment/${namespace}/${name} of ${tool} to 0`
    onEvent({type: 'step-started', step: 'stop', title})
    if (replicas > 0)
      await client.mergePatch(
        resources.deployments,
        {namespace, name},
        {spec: {replicas: 0}},
        {subresource: 'scale', signal},
      )
    for (;;) {
      const now = await findOtherControllers(client, signal)
      const left = now.find((other) => other.namespace === namespace && other.name === name)
      if ((left?.pods.length ?? 0) === 0) break
      await sleep(systemClock, lookEveryMs, signal)
    }
    const detail = `back: kubectl -n ${namespace} scale deployment/${name} --replicas=${replicas}`
    onEvent({type: 'step-done', step: 'stop', title, changed: replicas > 0, detail})
  }
}
