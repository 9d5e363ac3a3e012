import {describe, expect, it} from 'vitest'
import {managersOfKey, recogniseDnsOwner} from '../../../../src/platforms/dns/owner.ts'
import {dnsOwnerRules} from '../../../../src/platforms/dns/owners.ts'
import {versionFromImage} from '../../../../src/platforms/dns/container.ts'
import {projectConfigMap} from '../../../../src/platforms/dns/objects.ts'
import {caseObjects} from '../../../support/dns-objects.ts'

function ownerOfCase(file: string) {
  const [object] = caseObjects(`B18-platform-puts-the-corefile-back/${file}`)
  return recogniseDnsOwner(projectConfigMap(object!).metadata, 'Corefile')
}

describe('who puts the Corefile back (B18)', () => {
  it('knows k3s and AKS, which read coredns-custom', () => {
    expect(ownerOfCase('k3s.yaml')).toMatchObject({id: 'k3s', edits: 'reverted'})
    expect(ownerOfCase('aks.yaml')).toMatchObject({id: 'aks', edits: 'reverted'})
  })

  it('knows the EKS add-on by its field manager', () => {
    const owner = ownerOfCase('eks.yaml')
    expect(owner?.evidence).toEqual(['manager eks owns data.Corefile'])
    expect(owner?.instead).toContain('aws eks update-addon')
    expect(owner?.lasts).toBe('until the next update of the EKS add-on')
  })

  it('names the Kustomization', () => {
    expect(ownerOfCase('flux-owned.yaml')?.title).toBe('Kustomization flux-system/dns')
  })

  it.each([
    [{labels: {'k0s.k0sproject.io/stack': 'coredns'}}, 'k0s'],
    [{labels: {'helm.toolkit.fluxcd.io/name': 'coredns', 'helm.toolkit.fluxcd.io/namespace': 'x'}}, 'flux-helmrelease'],
    [{annotations: {'argocd.argoproj.io/tracking-id': 'dns:/ConfigMap:kube-system/coredns'}}, 'argo-cd'],
    [{labels: {'resources.gardener.cloud/managed-by': 'gardener'}}, 'gardener'],
    [{labels: {'dns.operator.openshift.io/owning-dns': 'default'}}, 'openshift'],
    [{annotations: {'meta.helm.sh/release-name': 'coredns', 'meta.helm.sh/release-namespace': 'kube-system'}}, 'helm'],
    [{labels: {'addonmanager.kubernetes.io/mode': 'EnsureExists'}}, 'addon-manager-ensure-exists'],
  ])('reads %j', (metadata, id) => {
    expect(recogniseDnsOwner({name: 'coredns', namespace: 'kube-system', ...metadata}, 'Corefile')?.id).toBe(id)
  })

  it('takes the application out of the tracking id', () => {
    const metadata = {
      name: 'coredns',
      annotations: {'argocd.argoproj.io/tracking-id': 'dns:/ConfigMap:kube-system/coredns'},
    }
    expect(recogniseDnsOwner(metadata, 'Corefile')?.title).toBe('Argo CD application dns')
  })

  it('counts only managers of our key', () => {
    const fields = (key: string) => ({'f:data': {'.': {}, [`f:${key}`]: {}}})
    const metadata = {
      name: 'coredns',
      managedFields: [
        {manager: 'eks', fieldsV1: fields('NodeHosts')},
        {manager: 'kubeadm', fieldsV1: fields('Corefile')},
        {manager: 'eksctl', fieldsV1: fields('Corefile')},
        {manager: 'broken', fieldsV1: 'text'},
      ],
    }
    expect(managersOfKey(metadata, 'Corefile')).toEqual(['kubeadm', 'eksctl'])
    expect(recogniseDnsOwner(metadata, 'Corefile')).toMatchObject({title: 'kubeadm', edits: 'kept-until-upgrade'})
  })

  it('knows nobody where nothing says so', () => {
    expect(recogniseDnsOwner({name: 'coredns', namespace: 'kube-system'}, 'Corefile')).toBeUndefined()
  })

  it('gives every owner that reverts edits another way, and every row a source', () => {
    for (const rule of dnsOwnerRules) {
      expect(rule.source, rule.id).toMatch(/^https:\/\//)
      if (rule.edits === 'reverted') expect(rule.instead, rule.id).toBeTruthy()
    }
    expect(new Set(dnsOwnerRules.map((rule) => rule.id)).size).toBe(dnsOwnerRules.length)
  })
})

describe('the version of an image', () => {
  it.each([
    ['registry.k8s.io/coredns/coredns:v1.11.3', '1.11.3'],
    ['602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/coredns:v1.11.4-eksbuild.2', '1.11.4'],
    ['registry.example.org:5000/coredns:1.9.3@sha256:0123', '1.9.3'],
    ['registry.example.org:5000/coredns', undefined],
    ['coredns:latest', undefined],
    ['coredns@sha256:0123', undefined],
    ['coredns:v1.12', undefined],
  ])('%s is %s', (image, version) => {
    expect(versionFromImage(image)).toBe(version)
  })
})
