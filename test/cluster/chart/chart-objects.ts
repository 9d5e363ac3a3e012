import {HelmHome} from './helm.ts'

/** Values of one pair; `enable` puts its own names, ports and image in their places. */
const values = {
  image: {repository: 'registry.invalid/srcip', digest: `sha256:${'0'.repeat(64)}`},
  paths: [
    {
      name: 'default',
      feeds: 'ingress-nginx/ingress-nginx-controller',
      ingressClasses: ['nginx'],
      sendProxy: 'auto',
      ports: [{service: 80, listen: 8080}],
      headless: {namespace: 'ingress-nginx', selector: {app: 'ingress'}},
    },
  ],
  cleanup: {enabled: false},
}

/** What the chart renders for one pair, as JSON: without Helm's own labels, in the order of an install. */
export async function chartObjects(helm: string): Promise<string> {
  const home = new HelmHome(helm)
  try {
    const objects = await home.render(values)
    const text = JSON.stringify(objects, (key, value: unknown) => (key === 'helm.sh/chart' ? undefined : value), 2)
    return `${text.replaceAll('"app.kubernetes.io/managed-by": "Helm"', '"app.kubernetes.io/managed-by": "kubectl-srcip"')}\n`
  } finally {
    home.remove()
  }
}
