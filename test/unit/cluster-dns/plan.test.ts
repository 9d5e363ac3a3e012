import {readFileSync} from 'node:fs'
import {describe, expect, it} from 'vitest'
import {findHostCircles, routesOfIngress} from '../../../src/cluster-dns/plan/circles.ts'
import {planCorednsChange} from '../../../src/cluster-dns/plan/plan-change.ts'
import {refusalMeanings} from '../../../src/cluster-dns/plan/refusals.ts'
import type {CorednsPlanRequest} from '../../../src/cluster-dns/plan/request.ts'
import {clusterDomainOf, readTarget} from '../../../src/cluster-dns/plan/targets.ts'
import {stateOfLocation} from '../../../src/cluster-dns/state.ts'
import {parseCorefile, reloadHash} from '../../../plugins/coredns/src/index.ts'
import type {KubeObject} from '../../../src/model/kubernetes.ts'
import {locateClusterDns} from '../../../src/platforms/dns/locate.ts'
import {projectDnsObjects, projectService} from '../../../src/platforms/dns/objects.ts'
import {
  caseObjects,
  configMap,
  corednsSpec,
  deployment,
  dnsService,
  kubeadmCorefile,
  kubeadmDns,
} from '../../support/dns-objects.ts'

const proxy: KubeObject = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {namespace: 'srcip', name: 'srcip-proxy'},
  spec: {type: 'ClusterIP', clusterIP: '10.96.5.5', ports: [{port: 443}]},
}

interface Options extends Partial<CorednsPlanRequest> {
  readonly names?: readonly string[]
  readonly target?: string
  readonly services?: readonly KubeObject[]
}

function plan(
  objects: readonly KubeObject[],
  {names = ['shop.example.org'], target = 'srcip/srcip-proxy', services = [proxy], ...request}: Options = {},
) {
  const location = locateClusterDns(projectDnsObjects(objects))
  const known = new Map(
    services.map((service) => [`${service.metadata.namespace}/${service.metadata.name}`, projectService(service)]),
  )
  return planCorednsChange(stateOfLocation(location, known), {
    operation: 'apply',
    hosts: names.map((name) => ({name, kind: name.startsWith('*.') ? 'wildcard-one-label' : 'exact', target})),
    targets: [target],
    ...request,
  })
}

/** Cluster DNS around the ConfigMap of a case: what the platform of that case mounts beside it. */
function dnsWith(map: KubeObject, custom?: {name: string; path?: string}, ...more: KubeObject[]): KubeObject[] {
  const spec = corednsSpec({
    configMap: 'coredns',
    ...(custom === undefined
      ? {}
      : {
          volumes: [
            {name: 'config-volume', configMap: {name: 'coredns', items: [{key: 'Corefile', path: 'Corefile'}]}},
            {name: 'custom', configMap: {name: custom.name, optional: true}},
          ],
          mounts: [
            {name: 'config-volume', mountPath: '/etc/coredns'},
            {name: 'custom', mountPath: custom.path ?? '/etc/coredns/custom'},
          ],
        }),
  })
  return [
    dnsService(),
    deployment('coredns', spec),
    {...map, metadata: {...map.metadata, uid: 'u1', resourceVersion: '41'}},
    ...more,
  ]
}

const b18 = (file: string) => caseObjects(`B18-platform-puts-the-corefile-back/${file}`)[0]!
const b19 = (file: string) => caseObjects(`B19-import-key-that-nothing-reads/${file}`)[0]!
const custom = {name: 'coredns-custom'}

describe('a plan on a kubeadm cluster', () => {
  const {document, change, corefile} = plan(kubeadmDns())

  it('is one edit with precondition, predicted hash and probe', () => {
    expect(document).toMatchObject({
      kind: 'CorednsPlan',
      exitCode: 0,
      changed: true,
      sources: [{object: 'configmap/kube-system/coredns', key: 'Corefile', resourceVersion: '7'}],
      targets: [
        {
          name: 'srcip/srcip-proxy',
          fqdn: 'srcip-proxy.srcip.svc.cluster.local.',
          checked: true,
          addresses: ['10.96.5.5'],
        },
      ],
      coredns: {version: '1.14.7', clusterDomain: 'cluster.local'},
      hosts: [{name: 'shop.example.org', form: 'exact', block: {keys: ['.:53'], line: 1}}],
      refused: [],
    })
    expect(change?.writes).toMatchObject([
      {
        namespace: 'kube-system',
        configMap: 'coredns',
        key: 'Corefile',
        uid: 'uid-coredns',
        resourceVersion: '7',
        before: kubeadmCorefile,
      },
    ])
    expect(change?.probes).toEqual([{name: 'shop.example.org', expect: 'is', addresses: ['10.96.5.5']}])
    expect(change?.hash).toBe(reloadHash(corefile!).value)
    expect(document.hash.sha512).toBe(change?.hash)
  })

  it('applied twice changes nothing, and clean gives back every byte', () => {
    const after = kubeadmDns(change?.writes[0]?.after ?? '')
    expect(plan(after)).toMatchObject({
      document: {changed: false, exitCode: 0},
      standing: {probes: [{name: 'shop.example.org'}]},
    })
    expect(plan(after).change).toBeUndefined()
    const cleaned = plan(after, {operation: 'clean', names: []})
    expect(cleaned.change?.writes[0]?.after).toBe(kubeadmCorefile)
    expect(cleaned.change?.probes).toEqual([{name: 'shop.example.org', expect: 'is-not', addresses: ['10.96.5.5']}])
  })

  it('edits describe the new bytes exactly', () => {
    const [edit] = document.edits
    const before = Buffer.from(kubeadmCorefile)
    const head = before.subarray(0, edit!.offset)
    const tail = before.subarray(edit!.offset + Buffer.byteLength(edit!.removed))
    expect(Buffer.concat([head, Buffer.from(edit!.inserted), tail])).toEqual(Buffer.from(corefile!))
  })
})

describe('the target', () => {
  it.each([
    ['TargetNotFound', {services: []}],
    ['TargetExternalName', {services: [{...proxy, spec: {type: 'ExternalName', externalName: 'app.example.org'}}]}],
    ['TargetNoClusterIP', {services: [{...proxy, spec: {clusterIP: 'None'}}]}],
    ['TargetNoClusterIP', {services: [{...proxy, spec: {clusterIP: ''}}]}],
    ['TargetInvalid', {target: 'srcip'}],
    ['TargetInvalid', {target: 'a/b/c'}],
    ['TargetInvalid', {target: 'UPPER/proxy'}],
    ['TargetInvalid', {target: 'proxy.example.org'}],
  ])('is refused with %s: %j', (code, options) => {
    const {document, change} = plan(kubeadmDns(), options)
    expect(document).toMatchObject({
      exitCode: 32,
      hosts: [],
      edits: [],
      changed: false,
      refused: [{name: 'shop.example.org', code}],
    })
    expect(change).toBeUndefined()
  })

  it('may be the FQDN of a Service of this cluster', () => {
    expect(plan(kubeadmDns(), {target: 'srcip-proxy.srcip.svc.cluster.local.'}).document).toMatchObject({
      exitCode: 0,
      targets: [{checked: true}],
    })
  })

  it('takes its zone from the kubernetes line (B28)', () => {
    const corefile = readFileSync(
      new URL('../../cases/B28-hosts-inside-cluster-zones/Corefile', import.meta.url),
      'utf8',
    )
    const names = readFileSync(new URL('../../cases/B28-hosts-inside-cluster-zones/hosts.txt', import.meta.url), 'utf8')
      .trim()
      .split('\n')
    const {document} = plan(kubeadmDns(corefile), {names})
    expect(document.hosts.map((host) => [host.name, host.target])).toEqual([
      ['app.example.org', 'srcip-proxy.srcip.svc.kube.example.net.'],
    ])
    expect(document.exitCode).toBe(23)
    expect(document.refused.map((host) => host.name).toSorted()).toEqual(
      names.filter((name) => name !== 'app.example.org').toSorted(),
    )
  })

  it.each([
    ['.:53 {\n kubernetes in-addr.arpa K.Example. ip6.arpa {\n pods insecure\n }\n}\n', 'k.example'],
    ['a.example:53 {\n kubernetes first.example\n}\n.:53 {\n kubernetes root.example\n}\n', 'root.example'],
    ['cluster.example:53 {\n kubernetes\n}\n', 'cluster.example'],
    ['.:53 {\n forward . 192.0.2.1\n}\n', undefined],
  ])('of %j has the domain %s', (text, domain) => {
    expect(clusterDomainOf(parseCorefile(Buffer.from(text)))).toBe(domain)
  })

  it('reads as a Service only below the cluster domain', () => {
    expect(readTarget('p.n.svc.cluster.local', 'cluster.local')).toMatchObject({
      service: 'n/p',
      fqdn: 'p.n.svc.cluster.local.',
    })
    expect(readTarget('p.n.svc.other', 'cluster.local')).toMatchObject({service: undefined, fqdn: 'p.n.svc.other.'})
  })
})

describe('where the rules go (B18)', () => {
  it.each(['k3s.yaml', 'aks.yaml'])('%s: into a key of coredns-custom that is created when absent', (file) => {
    const {document, change} = plan(dnsWith(b18(file), custom))
    expect(document).toMatchObject({exitCode: 0, hosts: [{name: 'shop.example.org'}]})
    expect(change?.writes).toEqual([
      {
        namespace: 'kube-system',
        configMap: 'coredns-custom',
        key: 'srcip.override',
        before: null,
        after: expect.stringContaining('rewrite name exact shop.example.org srcip-proxy.srcip.svc.cluster.local.'),
      },
    ])
    expect(document.edits).toMatchObject([
      {source: 'configmap/kube-system/coredns-custom', key: 'srcip.override', offset: 0, removed: ''},
    ])
    expect(change?.hash).toMatch(/^[0-9a-f]{128}$/)
  })

  it('leaves foreign keys of coredns-custom alone and takes its version as precondition', () => {
    const theirs = configMap('coredns-custom', {'log.override': 'log\n'}, {resourceVersion: '9'})
    const {change} = plan(dnsWith(b18('k3s.yaml'), custom, theirs))
    expect(change?.writes).toMatchObject([
      {configMap: 'coredns-custom', key: 'srcip.override', uid: 'uid-coredns-custom', resourceVersion: '9'},
    ])
  })

  it('a malformed pattern is refused even while its ConfigMap is empty: kubelet keeps a folder in every volume', () => {
    const map = b18('k3s.yaml')
    const text = (map['data'] as {Corefile: string}).Corefile
    const broken = {...map, data: {Corefile: text.replace('*.override', '*.override\\')}}
    expect(plan(dnsWith(broken, custom, configMap('coredns-custom', {}))).document).toMatchObject({
      exitCode: 32,
      refused: [{name: '*', code: 'DoesNotParse', reason: expect.stringContaining('syntax error in pattern')}],
    })
  })

  it('clean takes the key out again, never the ConfigMap', () => {
    const key = configMap('coredns-custom', {
      'srcip.override': 'rewrite name exact shop.example.org srcip-proxy.srcip.svc.cluster.local.\n',
    })
    const {change} = plan(dnsWith(b18('k3s.yaml'), custom, key), {operation: 'clean', names: []})
    expect(change?.writes).toMatchObject([{configMap: 'coredns-custom', key: 'srcip.override', after: null}])
  })

  it.each([
    ['eks.yaml', /manager eks owns data\.Corefile/, /aws eks update-addon/],
    ['flux-owned.yaml', /Kustomization flux-system\/dns/, /Kustomization flux-system\/dns/],
    ['k3s.yaml', /belongs to k3s/, /coredns-custom/],
  ])('%s without a mounted import: not between markers, unless forced', (file, reason, remedy) => {
    const {document, change} = plan(dnsWith(b18(file)))
    expect(document).toMatchObject({exitCode: 33, hosts: [], edits: [], refused: [{code: 'OwnedByPlatform'}]})
    expect(document.refused[0]?.reason).toMatch(reason)
    expect(document.refused[0]?.remedy).toMatch(remedy)
    expect(change).toBeUndefined()
    const forced = plan(dnsWith(b18(file)), {force: true})
    expect(forced.document.exitCode).toBe(0)
    expect(forced.document.warnings.join('\n')).toMatch(/the change lasts until/)
    expect(forced.change?.writes).toMatchObject([{configMap: 'coredns', key: 'Corefile'}])
  })

  it('RKE2: names the Helm release and the HelmChartConfig (B17)', () => {
    const {document} = plan(caseObjects('B17-configmap-is-not-named-coredns/objects.yaml'))
    expect(document.exitCode).toBe(33)
    expect(document.refused[0]?.reason).toContain('Helm release rke2-coredns')
    expect(document.refused[0]?.remedy).toContain('HelmChartConfig kube-system/rke2-coredns')
    expect(document.warnings).toContain(
      'configmap/kube-system/coredns is passed over: it holds a Corefile that no DNS pod mounts',
    )
  })

  it('an owned Corefile may always be cleaned', () => {
    const forced = plan(dnsWith(b18('eks.yaml')), {force: true})
    const [write] = forced.change!.writes
    const dirty = {...b18('eks.yaml'), data: {Corefile: write!.after}}
    const {change, document} = plan(dnsWith(dirty), {operation: 'clean', names: []})
    expect(document.exitCode).toBe(0)
    expect(change?.writes[0]?.after).toBe(write!.before)
  })
})

describe('one place and no other (mode)', () => {
  const kubeadmWithImport = (): KubeObject[] => {
    const map = configMap('coredns', {
      Corefile: kubeadmCorefile.replace('    reload\n', '    reload\n    import /etc/coredns/custom/*.override\n'),
    })
    return dnsWith(map, custom, configMap('coredns-custom', {'log.override': 'log\n'}, {resourceVersion: '9'}))
  }

  /** The same cluster after the writes of a change. */
  function after(objects: readonly KubeObject[], change: ReturnType<typeof plan>['change']): KubeObject[] {
    return objects.map((object) => {
      const data = {...(object as {data?: Record<string, string>}).data}
      for (const write of change?.writes ?? []) {
        if (object.kind !== 'ConfigMap' || object.metadata.name !== write.configMap) continue
        if (write.after === null) delete data[write.key]
        else data[write.key] = write.after
      }
      return object.kind === 'ConfigMap' ? {...object, data} : object
    })
  }

  it('corefile: between markers although the block imports a key', () => {
    const objects = kubeadmWithImport()
    expect(plan(objects).change?.writes).toMatchObject([{configMap: 'coredns-custom', key: 'srcip.override'}])
    const {document, change} = plan(objects, {mode: 'corefile'})
    expect(document).toMatchObject({exitCode: 0, hosts: [{name: 'shop.example.org'}]})
    expect(change?.writes).toMatchObject([{configMap: 'coredns', key: 'Corefile'}])
  })

  it('lines of ours move from one place to the other, standing in both for a moment, and come back byte for byte', () => {
    const objects = kubeadmWithImport()
    const inKey = after(objects, plan(objects).change)
    const moved = plan(inKey, {mode: 'corefile'})
    expect(moved.change?.writes).toMatchObject([
      {configMap: 'coredns', key: 'Corefile', after: expect.stringContaining('shop.example.org')},
      {configMap: 'coredns-custom', key: 'srcip.override', after: null},
    ])
    const inCorefile = after(inKey, moved.change)
    const back = plan(inCorefile, {mode: 'import'})
    expect(back.change?.writes).toMatchObject([
      {configMap: 'coredns-custom', key: 'srcip.override', after: expect.stringContaining('shop.example.org')},
      {
        configMap: 'coredns',
        key: 'Corefile',
        after: (objects[2] as {data?: Record<string, string>}).data?.['Corefile'],
      },
    ])
    expect(after(inCorefile, back.change)).toEqual(inKey)
  })

  it('corefile on a platform that puts the Corefile back is refused, naming the owner', () => {
    const {document, change} = plan(dnsWith(b18('k3s.yaml'), custom), {mode: 'corefile'})
    expect(document).toMatchObject({exitCode: 33, hosts: [], refused: [{code: 'OwnedByPlatform'}]})
    expect(document.refused[0]?.reason).not.toContain('import no key')
    expect(change).toBeUndefined()
  })
})

describe('an import key that nothing reads (B19)', () => {
  const inImportMode = (file: string, mount: {name: string; path?: string} = custom) =>
    plan(dnsWith(b19(file), mount), {mode: 'import'}).document

  it.each([
    ['a-only-server-import.yaml', /line 7 "import \/etc\/coredns\/custom\/\*\.server" stands between server blocks/],
    ['c-commented-import.yaml', /the Corefile has no import of files/],
    [
      'd-import-in-the-wrong-block.yaml',
      /line 2 "import \/etc\/coredns\/custom\/\*\.override" reads key srcip\.override of configmap coredns-custom, but in another server block/,
    ],
  ])('%s is refused, naming the imports and the key that would be read', (file, reason) => {
    const document = inImportMode(file)
    expect(document).toMatchObject({exitCode: 32, hosts: [], edits: [], refused: [{code: 'ImportKeyNotRead'}]})
    expect(document.refused[0]?.reason).toMatch(reason)
    expect(document.refused[0]?.remedy).toContain('srcip.override')
  })

  it('b: a file imported whole between server blocks would read rules as zone names', () => {
    const map = b19('b-whole-file-import.yaml')
    const theirs = configMap('user', {Corefile: '# nothing\n'})
    const {document} = plan(dnsWith(map, {name: 'user', path: '/etc/coredns-user'}, theirs), {mode: 'import'})
    expect(document.refused[0]).toMatchObject({code: 'ImportKeyNotRead'})
    expect(document.refused[0]?.reason).toMatch(/would be read as zone names/)
  })

  it('b: a plain file that cannot be read refuses the whole text', () => {
    expect(plan(dnsWith(b19('b-whole-file-import.yaml'))).document).toMatchObject({
      exitCode: 32,
      refused: [{name: '*', code: 'UnreadableImport', line: 1}],
    })
  })

  it('e: the key gets the suffix that is imported, if a ConfigMap is mounted there', () => {
    const mounted = plan(dnsWith(b19('e-mounted-under-another-path.yaml'), custom))
    expect(mounted.change?.writes).toMatchObject([{configMap: 'coredns-custom', key: 'srcip.include'}])
    const elsewhere = inImportMode('e-mounted-under-another-path.yaml', {
      name: 'coredns-custom',
      path: '/etc/coredns-custom',
    })
    expect(elsewhere.refused[0]?.reason).toMatch(
      /would read key srcip\.include, but no ConfigMap is mounted at \/etc\/coredns\/custom/,
    )
  })

  it('without import mode the rules go between markers, where they are read', () => {
    const {document, change} = plan(dnsWith(b19('a-only-server-import.yaml'), custom))
    expect(document.exitCode).toBe(0)
    expect(change?.writes).toMatchObject([{configMap: 'coredns', key: 'Corefile'}])
  })

  it('items of a volume show no key that they do not list', () => {
    const volumes = [
      {name: 'config-volume', configMap: {name: 'coredns'}},
      {
        name: 'custom',
        configMap: {name: 'coredns-custom', optional: true, items: [{key: 'x.override', path: 'x.override'}]},
      },
    ]
    const mounts = [
      {name: 'config-volume', mountPath: '/etc/coredns'},
      {name: 'custom', mountPath: '/etc/coredns/custom'},
    ]
    const map = b18('k3s.yaml')
    const {document} = plan([dnsService(), deployment('coredns', corednsSpec({volumes, mounts})), map])
    expect(document).toMatchObject({exitCode: 33, refused: [{code: 'OwnedByPlatform'}]})
  })
})

describe('NodeLocal DNSCache (B22)', () => {
  const cache = caseObjects('B22-node-local-dns-answers-first/objects.yaml')

  it('refuses names that CoreDNS is never asked for, and says where to add them', () => {
    const {document} = plan([...kubeadmDns(), ...cache])
    expect(document).toMatchObject({exitCode: 32, refused: [{code: 'NodeLocalDnsAnswersFirst'}]})
    expect(document.refused[0]?.remedy).toContain(
      'shop.example.org:53 to the header of the block for cluster.local:53 in configmap/kube-system/node-local-dns',
    )
  })

  it('takes them once the cache routes them to CoreDNS', () => {
    const [template, ...rest] = cache
    const text = (template!['data'] as {Corefile: string}).Corefile.replace(
      'cluster.local:53',
      'cluster.local:53 shop.example.org:53',
    )
    expect(plan([...kubeadmDns(), {...template!, data: {Corefile: text}}, ...rest]).document.exitCode).toBe(0)
  })
})

describe('circles through ExternalName Services (B29)', () => {
  const objects = caseObjects('B29-externalname-to-our-own-public-name/objects.yaml')
  const externalNames = new Map(
    objects
      .filter((object) => object.kind === 'Service')
      .map((object) => [
        `${object.metadata.namespace}/${object.metadata.name}`,
        (object['spec'] as {externalName: string}).externalName,
      ]),
  )
  const circles = findHostCircles(
    objects.filter((object) => object.kind === 'Ingress').flatMap(routesOfIngress),
    externalNames,
  )

  it('are told object by object', () => {
    expect(circles.get('app.example.org')).toEqual([
      'ingress/demo/app',
      'service/demo/loopback (ExternalName loop.example.org)',
      'ingress/demo/loop',
      'service/demo/self (ExternalName app.example.org)',
    ])
    expect([...circles.keys()].toSorted()).toEqual(['app.example.org', 'loop.example.org'])
  })

  it('refuse their hosts and no other', () => {
    const {document} = plan(kubeadmDns(), {names: ['app.example.org', 'loop.example.org', 'shop.example.org'], circles})
    expect(document).toMatchObject({exitCode: 23, hosts: [{name: 'shop.example.org'}]})
    expect(document.refused.map((entry) => [entry.name, entry.code])).toEqual([
      ['app.example.org', 'HostCircle'],
      ['loop.example.org', 'HostCircle'],
    ])
  })

  it('are none where an ExternalName leads on to a name that is served', () => {
    const routes = [
      {host: 'a.example', source: 'ingress/x/a', services: ['x/ext']},
      {host: '*.b.example', source: 'ingress/x/b', services: ['x/own']},
    ]
    expect(findHostCircles(routes, new Map([['x/ext', 'one.b.example']])).size).toBe(0)
    const back = findHostCircles(
      routes,
      new Map([
        ['x/ext', 'one.b.example'],
        ['x/own', 'a.example'],
      ]),
    )
    expect([...back.keys()]).toEqual(['a.example', '*.b.example'])
  })
})

describe('what would not take effect or not fit', () => {
  const noReload = kubeadmCorefile.replace(/^ *reload\n/m, '')

  it('refuses a Corefile without reload, unless the restart is part of the write (B15)', () => {
    const {document} = plan(kubeadmDns(noReload))
    expect(document).toMatchObject({exitCode: 32, refused: [{name: '*', code: 'NoReload'}]})
    expect(document.refused[0]?.remedy).toContain('kubectl -n kube-system rollout restart deployment/coredns')
    expect(plan(kubeadmDns(noReload), {restartCoredns: true})).toMatchObject({
      document: {exitCode: 0},
      change: {reloads: false},
    })
  })

  it('refuses subPath mounts the same way, and immutable ConfigMaps always', () => {
    const mounts = [{name: 'config-volume', mountPath: '/etc/coredns/Corefile', subPath: 'Corefile'}]
    expect(plan(kubeadmDns(undefined, {mounts})).document.refused[0]).toMatchObject({code: 'NoReload'})
    const [service, workload, map] = kubeadmDns()
    const frozen = [service!, workload!, {...map!, immutable: true}]
    expect(plan(frozen, {restartCoredns: true}).document.refused[0]).toMatchObject({code: 'Immutable'})
  })

  it('refuses what would fill the ConfigMap, counting all its keys', () => {
    const [service, workload, map] = kubeadmDns()
    const full = {...map!, data: {Corefile: kubeadmCorefile, other: 'x'.repeat(1_030_000)}}
    const names = Array.from({length: 90}, (_, index) => `${'long-'.repeat(11)}${index}.example.org`)
    const {document, change} = plan([service!, workload!, full], {names})
    expect(document).toMatchObject({exitCode: 32, refused: [{name: '*', code: 'TooLarge'}]})
    expect(change).toBeUndefined()
  })

  it('refuses an empty set, and takes everything out when it is allowed', () => {
    const full = kubeadmDns(plan(kubeadmDns()).change?.writes[0]?.after ?? '')
    expect(plan(full, {names: []}).document).toMatchObject({exitCode: 32, refused: [{code: 'EmptySet'}]})
    expect(plan(full, {names: [], allowEmpty: true}).change?.writes[0]?.after).toBe(kubeadmCorefile)
  })

  it('refuses a file that another tool manages (33)', () => {
    const theirs = kubeadmCorefile.replace(
      '.:53 {\n',
      '.:53 {\n    # === BEGIN ouroboros (do not edit by hand) ===\n    rewrite name a.example.org ouroboros-proxy.cozy-ouroboros.svc.cluster.local.\n    # === END ouroboros ===\n',
    )
    const {document, change} = plan(kubeadmDns(theirs))
    expect(document).toMatchObject({exitCode: 33, refused: [{name: '*', code: 'OtherTool'}]})
    expect(change).toBeUndefined()
  })

  it('warns when the version is not told by the image', () => {
    const {document} = plan(kubeadmDns(undefined, {image: 'registry.example.org/coredns@sha256:00'}))
    expect(document.warnings.join('\n')).toContain('1.14.7 is assumed')
  })
})

describe('wildcards (B26)', () => {
  const names = ['api.example.org', 'example.org', '*.example.org']

  it('are a warning without --wildcards', () => {
    const {document} = plan(kubeadmDns(), {names})
    expect(document).toMatchObject({exitCode: 0, refused: []})
    expect(document.hosts.map((host) => host.name)).toEqual(['api.example.org', 'example.org'])
    expect(document.warnings).toContain('*.example.org is not covered: it is a wildcard (--wildcards takes it)')
  })

  it('are an anchored pattern behind the exact lines, and spare names of others', () => {
    const {corefile, change} = plan(kubeadmDns(), {names, wildcards: true, spared: ['static.example.org']})
    const rules = Buffer.from(corefile!)
      .toString()
      .split('\n')
      .filter((line) => line.includes('rewrite'))
    expect(rules.map((rule) => rule.trim())).toEqual([
      'rewrite name exact api.example.org srcip-proxy.srcip.svc.cluster.local.',
      'rewrite name exact example.org srcip-proxy.srcip.svc.cluster.local.',
      'rewrite name exact static.example.org static.example.org.',
      'rewrite name regex ^[^._][^.]*\\.example\\.org\\.$ srcip-proxy.srcip.svc.cluster.local. answer auto',
    ])
    expect(change?.probes.map((probe) => probe.name)).toContain('srcip-probe.example.org')
  })
})

it('every code has a meaning, and docs/refusals.md lists exactly these', () => {
  const text = readFileSync(new URL('../../../docs/refusals.md', import.meta.url), 'utf8')
  const listed = [...text.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1])
  expect(listed.toSorted()).toEqual(Object.keys(refusalMeanings).toSorted())
})

describe('taking over from another tool', () => {
  const theirs = 'rewrite name a.example.org ouroboros-proxy.cozy-ouroboros.svc.cluster.local.\n'
  const importing = kubeadmCorefile.replace('{\n', '{\n    import /etc/coredns/custom/*.override\n')
  const objects = (data: Record<string, string>) =>
    dnsWith(configMap('coredns', {Corefile: importing}), custom, {
      ...configMap('coredns-custom', data),
      metadata: {namespace: 'kube-system', name: 'coredns-custom', uid: 'u2', resourceVersion: '7'},
    })

  it('its key goes and ours comes, in the same ConfigMap; keys of others stay', () => {
    const {change, document} = plan(objects({'ouroboros.override': theirs, 'log.override': 'log\n'}), {
      names: ['a.example.org'],
      adopt: ['ouroboros', 'hairpin-proxy'],
    })
    expect(document.refused).toEqual([])
    expect(change?.writes.map(({configMap: name, key, after}) => [name, key, after === null])).toEqual([
      ['coredns-custom', 'srcip.override', false],
      ['coredns-custom', 'ouroboros.override', true],
    ])
  })

  it('lines of an operator in its key stay there', () => {
    const {change} = plan(objects({'ouroboros.override': `${theirs}log\n`}), {
      names: ['a.example.org'],
      adopt: ['ouroboros'],
    })
    expect(change?.writes.find(({key}) => key === 'ouroboros.override')?.after).toBe('log\n')
  })

  it('all names or none: one that cannot be taken over would be lost', () => {
    const {change, document} = plan(objects({'ouroboros.override': theirs}), {
      names: ['a.example.org', 'web.demo.svc.cluster.local'],
      adopt: ['ouroboros'],
    })
    expect(change).toBeUndefined()
    expect(document).toMatchObject({exitCode: 32, refused: [{name: '*', code: 'AdoptIncomplete'}]})
    expect(document.refused[0]?.remedy).toContain('--exclude web.demo.svc.cluster.local')
  })
})
