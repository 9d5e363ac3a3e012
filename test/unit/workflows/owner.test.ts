import {expect, test} from 'vitest'
import {ownerOf} from '../../../src/workflows/owner.ts'

const object = (metadata: object) => ({kind: 'ConfigMap', metadata: {name: 'x', namespace: 'y', ...metadata}})
const helm = {'meta.helm.sh/release-name': 'ingress-nginx', 'meta.helm.sh/release-namespace': 'ingress-nginx'}

test.each([
  ['nobody', {}, undefined, ''],
  ['kubectl', {managedFields: [{manager: 'kubectl-edit'}]}, undefined, ''],
  ['Helm', {annotations: helm}, 'Helm', 'release ingress-nginx in ingress-nginx'],
  [
    'a HelmRelease of Flux, which leaves marks of Helm, too',
    {
      annotations: helm,
      labels: {'helm.toolkit.fluxcd.io/name': 'nginx', 'helm.toolkit.fluxcd.io/namespace': 'flux-system'},
    },
    'Flux',
    'helmrelease/flux-system/nginx',
  ],
  [
    'a Kustomization of Flux',
    {labels: {'kustomize.toolkit.fluxcd.io/name': 'edge', 'kustomize.toolkit.fluxcd.io/namespace': 'flux-system'}},
    'Flux',
    'kustomization/flux-system/edge',
  ],
  [
    'Argo CD by its annotation',
    {annotations: {'argocd.argoproj.io/tracking-id': 'edge:/ConfigMap:y/x'}},
    'Argo CD',
    'application/edge',
  ],
  [
    'Argo CD by label and manager',
    {labels: {'app.kubernetes.io/instance': 'edge'}, managedFields: [{manager: 'argocd-controller'}]},
    'Argo CD',
    'application/edge',
  ],
])('%s', (_, metadata, tool, name) => {
  const owner = ownerOf(object(metadata))
  expect(owner?.tool).toBe(tool)
  if (tool !== undefined) expect(owner).toMatchObject({name, lasts: expect.stringMatching(/^until/)})
})
