import type {KubeClient} from '../../kube/types.ts'
import {type Found, imagesOfPods} from '../../registry/images/input.ts'

interface PodShape {
  readonly metadata?: {readonly namespace?: string; readonly name?: string}
  readonly spec?: Readonly<Record<string, readonly {readonly name?: string; readonly image?: string}[] | undefined>>
  readonly status?: Readonly<Record<string, readonly {readonly name?: string; readonly imageID?: string}[] | undefined>>
}

/** The images of every Pod that the cluster runs, init and ephemeral containers included. */
export async function liveImages(client: KubeClient, signal: AbortSignal): Promise<Found> {
  const {resources} = await import('../../kube/resources.ts')
  const {items} = await client.list(resources.pods, {signal})
  return imagesOfPods((items as readonly PodShape[]).map(podImages))
}

function podImages(pod: PodShape): Parameters<typeof imagesOfPods>[0][number] {
  const specs = ['containers', 'initContainers', 'ephemeralContainers'].flatMap((key) => pod.spec?.[key] ?? [])
  const states = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'].flatMap(
    (key) => pod.status?.[key] ?? [],
  )
  return {
    namespace: pod.metadata?.namespace ?? '',
    name: pod.metadata?.name ?? '',
    containers: specs.flatMap(({name, image}) => {
      const imageID = states.find((state) => state.name === name)?.imageID
      return image === undefined ? [] : [{image, ...(imageID === undefined ? {} : {imageID})}]
    }),
  }
}
