import {hasStatus} from '../failures/failure.ts'
import type {CallOptions, Discovery, Resource} from '../types.ts'
import {parseJson} from './body.ts'
import type {Requester} from './requester.ts'

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

type Fields = Readonly<Record<string, unknown>>

interface Found {
  readonly resources: Resource[]
  readonly incomplete: string[]
}

/**
 * Asks what the API server serves: one request where it knows aggregated discovery (1.27 and later, KEP-3352), else the
 * group lists and one request for each version of each group.
 */
export async function discover(requester: Requester, options: CallOptions): Promise<Discovery> {
  const [core, groups] = await Promise.all([oneRoot(requester, '/api', options), oneRoot(requester, '/apis', options)])
  const found = {
    resources: [...core.resources, ...groups.resources],
    incomplete: [...core.incomplete, ...groups.incomplete],
  }
  return {
    incomplete: found.incomplete,
    find: (group, plural, versions) => {
      const served = found.resources.filter((resource) => resource.group === group && resource.plural === plural)
      if (versions === undefined) return served[0]
      return versions
        .map((version) => served.find((resource) => resource.version === version))
        .find((one) => one !== undefined)
    },
  }
}

async function oneRoot(requester: Requester, path: '/api' | '/apis', options: CallOptions): Promise<Found> {
  const body = await getJson(requester, path, `${aggregated},application/json`, options)
  if (body['kind'] === 'APIGroupDiscoveryList') return readAggregated(body)
  return await readClassic(requester, path, body, options)
}

async function getJson(requester: Requester, path: string, accept: string, options: CallOptions): Promise<Fields> {
  const about = {verb: `discover ${path}`}
  const response = await requester.request({path, accept, about, compress: true, ...options})
  const body = parseJson(response.body, {config: requester.config, about})
  return fields(body)
}

function readAggregated(body: Fields): Found {
  const found: Found = {resources: [], incomplete: []}
  for (const item of list(body['items'])) {
    const group = text(fields(item['metadata'])['name'])
    for (const version of list(item['versions'])) {
      const name = text(version['version'])
      // "Stale" means that the aggregated server behind it did not answer.
      if (version['freshness'] === 'Stale') found.incomplete.push(`${group}/${name}`)
      for (const resource of list(version['resources'])) {
        found.resources.push({
          group,
          version: name,
          plural: text(resource['resource']),
          kind: text(fields(resource['responseKind'])['kind']),
          namespaced: resource['scope'] === 'Namespaced',
        })
      }
    }
  }
  return found
}

async function readClassic(
  requester: Requester,
  path: '/api' | '/apis',
  body: Fields,
  options: CallOptions,
): Promise<Found> {
  const versions =
    path === '/api'
      ? texts(body['versions']).map((version) => ({group: '', version, path: `/api/${version}`}))
      : list(body['groups']).flatMap((group) =>
          list(group['versions']).map((version) => ({
            group: text(group['name']),
            version: text(version['version']),
            path: `/apis/${text(version['groupVersion'])}`,
          })),
        )
  const parts = await Promise.all(
    versions.map(async ({group, version, path: versionPath}): Promise<Found> => {
      try {
        const answer = await getJson(requester, versionPath, 'application/json', options)
        return {
          resources: list(answer['resources']).flatMap((item) => classicResource(item, group, version)),
          incomplete: [],
        }
      } catch (error) {
        // One aggregated API that is down (503) or gone meanwhile (404) says nothing about the others.
        if (hasStatus(error, 404)) return {resources: [], incomplete: []}
        if (hasStatus(error)) return {resources: [], incomplete: [`${group}/${version}`]}
        throw error
      }
    }),
  )
  return {resources: parts.flatMap((part) => part.resources), incomplete: parts.flatMap((part) => part.incomplete)}
}

function classicResource(item: Fields, group: string, version: string): Resource[] {
  const plural = text(item['name'])
  // `pods/log` and the like are listed beside the resources.
  if (plural === '' || plural.includes('/')) return []
  return [{group, version, plural, kind: text(item['kind']), namespaced: item['namespaced'] === true}]
}

function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function list(value: unknown): Fields[] {
  return Array.isArray(value) ? value.map(fields) : []
}

function texts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : []
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
