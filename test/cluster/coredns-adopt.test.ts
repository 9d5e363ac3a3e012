import {expect, test} from 'vitest'
import {
  BED_PARTS,
  bedForSuite,
  describeWithParts,
  kubeadmCorefile,
  until,
  type Bed,
  type KubeObject,
} from './bed/index.ts'

const proxyAddress = '10.96.5.5'
const theirAddress = '10.96.5.6'
const service = (namespace: string, name: string, clusterIP: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {name, namespace},
  spec: {clusterIP, selector: {app: name}, ports: [{name: 'https', port: 443}]},
})
/** A controller under a mirrored image: known by its label and its first word. */
const controller: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {name: 'ouroboros', namespace: 'cozy-ouroboros'},
  spec: {
    replicas: 1,
    selector: {matchLabels: {'app.kubernetes.io/name': 'ouroboros', 'app.kubernetes.io/component': 'controller'}},
    template: {
      metadata: {labels: {'app.kubernetes.io/name': 'ouroboros', 'app.kubernetes.io/component': 'controller'}},
      spec: {
        containers: [
          {name: 'controller', image: 'registry.example.org/m/o:0.8', args: ['controller', '--mode=coredns']},
        ],
      },
    },
  },
}
const section = [
  '    # === BEGIN ouroboros (do not edit by hand) ===',
  '    rewrite name shop.example.org ouroboros-proxy.cozy-ouroboros.svc.cluster.local.',
  '    # === END ouroboros ===',
].join('\n')
const before = kubeadmCorefile().replace(/}\n*$/, `${section}\n}\n`)

await describeWithParts('coredns adopt on a real cluster', BED_PARTS, async () => {
  const current = await bedForSuite()
  const adopt = (bed: Bed, ...argv: string[]) =>
    bed.cli(['kubectl', 'srcip', 'coredns', 'adopt', ...argv], {user: 'admin'})
  const corefile = async (bed: Bed): Promise<string> => {
    const {data} = await bed.api.get<KubeObject & {data: {Corefile: string}}>(
      '/api/v1/namespaces/kube-system/configmaps/coredns',
    )
    return data.Corefile
  }
  const put = (bed: Bed, text: string) =>
    bed.api.patch(
      {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}},
      {data: {Corefile: text}},
    )
  const answers = (bed: Bed) =>
    Promise.all(
      bed
        .corednsPods()
        .map(async (pod) => (await bed.resolve('shop.example.org', {server: pod.address})).addresses.join()),
    )

  test(
    'refused while the other controller has a pod; --stop-other waits for it to go; one write, proved',
    {timeout: 240_000},
    async () => {
      const bed = current()
      for (const namespace of ['srcip', 'cozy-ouroboros']) {
        await bed.api.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name: namespace}}).catch(() => undefined)
      }
      await bed.api.create(service('srcip', 'srcip-proxy', proxyAddress))
      await bed.api.create(service('cozy-ouroboros', 'ouroboros-proxy', theirAddress))
      const map = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'coredns', namespace: 'kube-system'}}
      await bed.api.patch(map, {data: {Corefile: before}})
      await until('every CoreDNS answers with the other proxy', 60, async () =>
        (await answers(bed)).every((address) => address === theirAddress),
      )
      await bed.api.create(controller)
      const labels = (controller['spec'] as {selector: {matchLabels: Record<string, string>}}).selector.matchLabels
      await bed.api.create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {name: 'ouroboros-0', namespace: 'cozy-ouroboros', labels},
        spec: {nodeName: 'nowhere', terminationGracePeriodSeconds: 0, containers: [{name: 'controller', image: 'x'}]},
      })

      const refused = await adopt(bed, '--yes')
      expect(refused.code, refused.stderr).toBe(33)
      expect(refused.stderr).toContain('pod/cozy-ouroboros/ouroboros-0 of ouroboros is running')
      expect(refused.stderr).toContain('--stop-other')
      expect(await corefile(bed)).toBe(before)

      const looked = await adopt(bed, '--dry-run=server', '-o', 'diff')
      expect(looked.code, looked.stderr).toBe(0)
      expect(looked.stdout).toContain('+    rewrite name exact shop.example.org srcip-proxy.srcip.svc.cluster.local.')
      expect(looked.stderr).toContain('refused without --stop-other')
      expect(await corefile(bed)).toBe(before)

      const taking = adopt(bed, '--stop-other', '--yes', '-o', 'json')
      const path = '/apis/apps/v1/namespaces/cozy-ouroboros/deployments/ouroboros'
      await until('the controller is scaled to 0', 60, async () => {
        const {spec} = await bed.api.get<KubeObject & {spec: {replicas: number}}>(path)
        return spec.replicas === 0
      })
      // Its pod is still there: nothing may be written yet.
      expect(await corefile(bed)).toBe(before)
      await bed.api.request('DELETE', '/api/v1/namespaces/cozy-ouroboros/pods/ouroboros-0?gracePeriodSeconds=0')
      const taken = await taking
      expect(taken.code, taken.stderr).toBe(0)
      const result = JSON.parse(taken.stdout) as {operation: string; outcome: string; pods: {verdict: string}[]}
      expect(result).toMatchObject({operation: 'adopt', outcome: 'proved'})
      expect(result.pods.map(({verdict}) => verdict)).toEqual(['done', 'done'])
      const text = await corefile(bed)
      expect(text).not.toContain('ouroboros')
      expect(
        text
          .split('\n')
          .filter((line) => !line.includes('srcip'))
          .join('\n'),
      ).toBe(kubeadmCorefile())
      expect(await answers(bed)).toEqual([proxyAddress, proxyAddress])

      const again = await adopt(bed, '--yes')
      expect(again.code, again.stderr).toBe(0)
      expect(await corefile(bed)).toBe(text)
    },
  )

  test(
    'hairpin-proxy: its lines go, ours come, answers follow; what stands around them stays',
    {timeout: 240_000},
    async () => {
      const bed = current()
      await bed.api.create({apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'hairpin-proxy'}})
      await bed.api.create(service('hairpin-proxy', 'hairpin-proxy', '10.96.5.7'))
      const line =
        '    rewrite name shop.example.org hairpin-proxy.hairpin-proxy.svc.cluster.local # Added by hairpin-proxy'
      const own = '    # written by a person, and to be kept'
      const text = kubeadmCorefile().replace(/^(\.:53 \{)$/m, `$1\n${own}\n${line}`)
      await put(bed, text)
      await until('every CoreDNS answers with hairpin-proxy', 60, async () =>
        (await answers(bed)).every((address) => address === '10.96.5.7'),
      )
      const {code, stderr, stdout} = await adopt(bed, '--yes', '-o', 'json')
      expect(code, stderr).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({operation: 'adopt', outcome: 'proved'})
      expect(await answers(bed)).toEqual([proxyAddress, proxyAddress])
      const kept = (await corefile(bed)).split('\n').filter((one) => !one.includes('srcip'))
      expect(kept.join('\n')).toBe(text.replace(`${line}\n`, ''))
    },
  )
})
