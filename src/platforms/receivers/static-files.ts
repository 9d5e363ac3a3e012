import {field, record, text} from '../../model/fields.ts'
import {flagOf, wordsOf} from '../workloads.ts'
import {trustFrom, type Found, type ReceiverQuestion, type Seen, type Trust} from './state.ts'

/*
 * Static configuration files of Traefik and APISIX as ConfigMaps hold them. Only a handful of keys matter, so they are looked
 * up by name and indentation, in block and in flow style; what is not found that way counts as not seen.
 */

/** What stands below a key: the rest of its line and every deeper line. */
export function sectionOf(yaml: string, key: string): string | undefined {
  const lines = yaml.split('\n')
  const start = lines.findIndex((line) => new RegExp(`^\\s*(?:- )?["']?${key}["']?:`, 'i').test(line))
  const first = lines[start]
  if (first === undefined) return undefined
  const depth = first.search(/\S/)
  const below = lines.slice(start + 1)
  const end = below.findIndex((line) => line.trim() !== '' && line.search(/\S/) <= depth)
  return [first.slice(first.indexOf(':') + 1), ...(end < 0 ? below : below.slice(0, end))].join('\n')
}

/** Items of a list behind a key, in flow (`[a, b]`) or block style; undefined if the key is not there. */
export function listBelow(yaml: string, key: string): string[] | undefined {
  const flow = new RegExp(`["']?${key}["']?\\s*[:=]\\s*\\[([^\\]]*)\\]`, 'i').exec(yaml)
  if (flow !== null) return items((flow[1] ?? '').split(','))
  const section = sectionOf(yaml, key)
  return section === undefined
    ? undefined
    : items(section.split('\n').flatMap((line) => /^\s*-\s*(.+)$/.exec(line)?.[1] ?? []))
}

function items(words: readonly string[]): string[] {
  return words.map((word) => word.replaceAll(/["'\s]/g, '')).filter((word) => word !== '')
}

/** Traefik: an entry point of the file that `--configFile` names, by the port it listens on. */
export function readTraefikFile(question: ReceiverQuestion): Found | undefined {
  for (const {object, key, content} of staticFiles(question)) {
    const toml = key.endsWith('.toml')
    for (const name of entryPointNames(content, toml)) {
      const own = toml
        ? tomlTable(content, `entryPoints.${name}`)
        : sectionOf(sectionOf(content, 'entryPoints') ?? '', name)
      const port = /address["']?\s*[:=]\s*["']?[^"'\n]*:(\d+)/i.exec(own ?? '')?.[1]
      if (own === undefined || port === undefined || Number(port) !== question.targetPort) continue
      const protocol = toml
        ? tomlTable(content, `entryPoints.${name}.proxyProtocol`)
        : sectionOrFlow(own, 'proxyProtocol')
      const seen: Seen[] = [
        {
          object,
          field: `data["${key}"]`,
          value: `entryPoints.${name}${protocol === undefined ? ' without' : ''} proxyProtocol`,
        },
      ]
      if (protocol === undefined) return {asks: 'no', seen}
      return {asks: 'yes', seen, trust: trustOf(question, protocol)}
    }
  }
  return undefined
}

function trustOf(question: ReceiverQuestion, protocol: string): Trust {
  if (/insecure["']?\s*[:=]\s*true/i.test(protocol)) return {kind: 'anyone'}
  return trustFrom(question.row.trust.value, listBelow(protocol, 'trustedIPs')?.join(','))
}

/** A nested map that stands in flow style on the line of its key, or below it. */
function sectionOrFlow(yaml: string, key: string): string | undefined {
  const flow = new RegExp(`\\b${key}["']?\\s*:\\s*(\\{.*\\})`, 'i').exec(yaml)
  return flow?.[1] ?? sectionOf(yaml, key)
}

function entryPointNames(content: string, toml: boolean): string[] {
  if (toml) return [...content.matchAll(/^\s*\[entryPoints\.([\w-]+)\]/gim)].map((match) => match[1] ?? '')
  const section = sectionOf(content, 'entryPoints') ?? ''
  const lines = section.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('#'))
  const depth = Math.min(...lines.slice(lines[0]?.trim() === '' ? 1 : 0).map((line) => line.search(/\S/)))
  return lines.flatMap((line) => (line.search(/\S/) === depth ? (/^\s*["']?([\w-]+)["']?:/.exec(line)?.[1] ?? []) : []))
}

/** The lines of one table of a TOML file. */
function tomlTable(content: string, name: string): string | undefined {
  const start = content.toLowerCase().indexOf(`[${name.toLowerCase()}]`)
  if (start < 0) return undefined
  const rest = content.slice(start + name.length + 2)
  const end = rest.search(/^\s*\[/m)
  return end < 0 ? rest : rest.slice(0, end)
}

/** ConfigMap keys that may be the static file of these pods: mounted, and called as `--configFile` says or by the default names. */
function staticFiles(question: ReceiverQuestion): {object: string; key: string; content: string}[] {
  return question.runners.slice(0, 1).flatMap((runner) =>
    runner.spec.containers.flatMap((container) => {
      const named = flagOf(wordsOf(runner, container), 'configfile')?.split('/').at(-1)
      const maps = runner.spec.volumes.flatMap((volume) =>
        volume.sources.flatMap((source) => source.configMap?.name ?? []),
      )
      return maps.flatMap((name) => {
        const data = record(question.index.get('ConfigMap', runner.namespace, name, '')?.['data'])
        return Object.keys(data)
          .filter((key) => (named === undefined ? /^traefik\.(?:ya?ml|toml)$/.test(key) : key === named))
          .flatMap((key) => {
            const content = text(field(data, key))
            return content === undefined ? [] : [{object: `configmap/${runner.namespace}/${name}`, key, content}]
          })
      })
    }),
  )
}

/** APISIX: config.yaml in a ConfigMap of the namespace; the PROXY ports are ports of their own. */
export function readConfigFile(question: ReceiverQuestion): Found {
  const namespace = question.service.metadata.namespace
  for (const map of question.index.list('ConfigMap', '').filter((one) => one.metadata.namespace === namespace)) {
    const config = text(field(record(map['data']), 'config.yaml'))
    if (config === undefined || !/^\s*apisix:/m.test(config)) continue
    const ports = ['listen_http_port', 'listen_https_port'].flatMap((key) => {
      const match = new RegExp(`\\b${key}["']?:\\s*(\\d+)`).exec(config)
      return match === null ? [] : [Number(match[1])]
    })
    const byHeader = /real_ip_header:\s*["']?proxy_protocol/.test(config)
    return {
      asks: question.targetPort !== undefined && ports.includes(question.targetPort) ? 'yes' : 'no',
      seen: [
        {
          object: `configmap/${map.metadata.namespace}/${map.metadata.name}`,
          field: 'data["config.yaml"]',
          value: `proxy_protocol ports: ${ports.join(', ') || 'none'}`,
        },
      ],
      trust: byHeader
        ? trustFrom(question.row.trust.value, listBelow(config, 'real_ip_from')?.join(','))
        : {kind: 'nobody', key: 'nginx_config.http.real_ip_header'},
    }
  }
  return {
    asks: 'unknown',
    seen: [],
    grade: 'unconfirmed',
    check: 'read config.yaml of APISIX for apisix.proxy_protocol',
  }
}
