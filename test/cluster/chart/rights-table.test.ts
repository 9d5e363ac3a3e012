import {readFileSync} from 'node:fs'
import {afterAll, beforeAll, expect, test} from 'vitest'
import {describeWithParts, type KubeObject} from '../bed/index.ts'
import {HelmHome, objectsIn, valuesFile} from './helm.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** Which role of the chart each table of docs/rights.md is about; the hook's has its place in a column. */
const places = [
  {after: 'In every namespace, reading only:', role: 'srcip-sources'},
  {after: 'In its own namespace:', role: 'srcip-proxies'},
  {after: 'In the namespace of cluster DNS (`dns.namespace`):', role: 'srcip-dns'},
  {after: 'In the namespace of each ingress Service', role: 'srcip-ingress'},
  {after: 'With `controller.externalDns.enabled` only', role: 'srcip-external-dns'},
  {after: '## Clean-up hook', role: 'srcip-cleanup'},
] as const

/** What a table grants, one line for each verb: `ROLE GROUP/RESOURCE[NAME] VERB`. */
function tabled(): string[] {
  const text = readFileSync(new URL('../../../docs/rights.md', import.meta.url), 'utf8')
  return places.flatMap(({after, role}) => {
    const rest = text.slice(text.indexOf(after))
    expect(text, after).toContain(after)
    const [, table = ''] = /\n\n((?:\|.*\n)+)/.exec(rest) ?? []
    const rows = table.trim().split('\n').slice(2)
    return rows.flatMap((row) => {
      const cells = row.split('|').map((cell) => cell.trim())
      const where = role === 'srcip-cleanup' ? cells.splice(1, 1)[0] : ''
      const [, group = '', resource = '', verbs = ''] = cells
      const [list = '', named = ''] = resource.split(' named ')
      const names = named
        .replace('in `dns.configMaps`', 'coredns')
        .replace('as the controller', 'srcip')
        .replace('as in `feeds`', 'ingress-nginx-controller')
        .replaceAll('`', '')
        .replace('RELEASE', 'srcip')
      const owner = where === 'DNS' ? `${role}-dns` : role
      return list
        .split(', ')
        .flatMap((each) => verbs.split(', ').map((verb) => `${owner} ${group}/${each}[${names}] ${verb}`))
    })
  })
}

function rendered(objects: readonly KubeObject[]): string[] {
  return objects
    .filter(({kind}) => kind === 'Role' || kind === 'ClusterRole')
    .flatMap((role) =>
      (role['rules'] as Rule[]).flatMap(({apiGroups, resources, resourceNames = [], verbs}) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            verbs.map((verb) => `${role.metadata.name} ${group}/${resource}[${resourceNames.join()}] ${verb}`),
          ),
        ),
      ),
    )
}

await describeWithParts('docs/rights.md', ['helm'], (parts) => {
  let home: HelmHome
  beforeAll(() => {
    home = new HelmHome(parts.helm)
  })
  afterAll(() => home.remove())

  test('its tables are the roles of the chart, verb by verb', async () => {
    const all = await Promise.all(
      ['endpoint', 'service'].map(async (as) => {
        const settings = `controller.externalDns.enabled=true,controller.externalDns.as=${as}`
        return rendered(objectsIn(await home.template(valuesFile('minimal'), '--set', settings)))
      }),
    )
    const roles = [...new Set(all.flat())].toSorted()
    expect(roles.length).toBeGreaterThan(40)
    expect([...new Set(tabled())].toSorted()).toEqual(roles)
  })

  test('without ExternalDNS there is not one right to its objects but to look for them when all is taken out', async () => {
    const roles = rendered(objectsIn(await home.template(valuesFile('minimal'))))
    expect(roles.filter((right) => right.includes('external'))).toEqual([
      'srcip-cleanup externaldns.k8s.io/dnsendpoints[] list',
    ])
  })
})
