import {existsSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {insideEnvironment} from './namespaces.ts'
import type {Image} from './pod-container.ts'

const repository = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))

/** Image name of the product in the bed's pods: `kubectl srcip`, through a real kubectl. */
export const PRODUCT_IMAGE = 'ghcr.io/srcip/srcip:bed'

/** The same, named by digest as people name it. */
export const PRODUCT_IMAGE_BY_DIGEST = `registry.example.org/srcip@sha256:${'3f'.repeat(32)}`

/** The programs behind the image names that the bed's pods use. */
export function bedImages(settings: {
  /** Folder with kubectl, the product and Node, as a container would have them on its PATH. */
  tools: string
  coredns: ReadonlyMap<string, string>
  nginx: Image | undefined
  further: ReadonlyMap<string, Image>
}): (image: string) => Image {
  return (image) => {
    const own = settings.further.get(image)
    if (own !== undefined) return own
    const version = /\/coredns:v(.+)$/.exec(image)?.[1]
    const coredns = version === undefined ? undefined : settings.coredns.get(version)
    if (coredns !== undefined) return {entrypoint: [coredns]}
    if (image.includes('ingress-nginx/controller') && settings.nginx !== undefined) return settings.nginx
    if (image === 'bed/echo:1') return {entrypoint: [process.execPath, repository('test/cluster/bed/echo-main.ts')]}
    if (image === 'bed/caller:1') return {entrypoint: ['sleep', 'infinity']}
    if (image === PRODUCT_IMAGE || image === PRODUCT_IMAGE_BY_DIGEST) return productImage(settings.tools)
    throw new Error(`Failed to pull image "${image}": the bed has no program for it`)
  }
}

function productImage(tools: string): Image {
  if (!existsSync(repository('dist'))) throw new Error('the product is not built: npm run build')
  return {entrypoint: ['kubectl', 'srcip'], env: {PATH: `${tools}:${insideEnvironment()['PATH']}`}}
}

/** Where the product's entry point lies. */
export const productEntry = repository('bin/run.js')
