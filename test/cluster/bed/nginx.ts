import {renameSync, writeFileSync} from 'node:fs'
import {join} from 'node:path'
import {killInside} from './actor.ts'
import type {ConfigMap, Ingress, IngressRule, Pod, Secret, Service} from './objects.ts'

/** What the strict ingress is rendered from. */
export type IngressState = {
  ingresses: Iterable<Ingress>
  services: ReadonlyMap<string, Service>
  secrets: ReadonlyMap<string, Secret>
  /** The controller's ConfigMap; of its keys the bed reads `use-proxy-protocol`. */
  settings: ConfigMap | undefined
  /** Certificate for hosts without a secret of their own. */
  certificate: {key: string; cert: string}
}

type Path = NonNullable<IngressRule['http']>['paths'][number]
type Site = {
  host: string
  secure: boolean
  redirect: boolean
  certificate: {key: string; cert: string}
  paths: {path: string; exact: boolean; target: string}[]
}

/** Ingress class that the bed's controller serves. */
export const INGRESS_CLASS = 'nginx'

/**
 * Writes the configuration of one ingress pod into its folder; true when it changed. A listener that wants the PROXY
 * protocol takes nothing else: as in ingress-nginx, which is why the hairpin breaks.
 */
export function writeNginxConfig(folder: string, state: IngressState, previous: string | undefined): string {
  const text = nginxConfig(folder, state)
  if (text === previous) return text
  writeFileSync(join(folder, 'nginx.conf.new'), text)
  renameSync(join(folder, 'nginx.conf.new'), join(folder, 'nginx.conf'))
  return text
}

/** Tells a running nginx to read its configuration again. */
export function reloadNginx(inside: {pid: number}): void {
  killInside(inside, 'SIGHUP')
}

function nginxConfig(folder: string, state: IngressState): string {
  const proxied = state.settings?.data?.['use-proxy-protocol'] === 'true'
  const listen = (port: number, rest: string) => `listen ${port}${rest}${proxied ? ' proxy_protocol' : ''};`
  const sites = sitesOf(folder, state)
  const fallback = {key: state.certificate.key, cert: state.certificate.cert}
  const lines = [
    'user root;',
    'worker_processes 1;',
    `pid ${folder}/nginx.pid;`,
    'error_log stderr notice;',
    'events { worker_connections 512; }',
    'http {',
    `  log_format ingress '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $host';`,
    '  access_log /dev/stdout ingress;',
    ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `  ${name}_temp_path ${folder}/${name};`),
    '  server_tokens off;',
    '  proxy_http_version 1.1;',
    ...(proxied ? ['  real_ip_header proxy_protocol;', '  set_real_ip_from 0.0.0.0/0;'] : []),
    '  map $http_upgrade $connection_upgrade { default upgrade; "" ""; }',
    ...server(['_'], [listen(80, ' default_server'), listen(443, ' default_server ssl')], fallback, [
      'location / { return 404; }',
    ]),
    '  server { listen 10254; access_log off; location = /healthz { return 200; } location / { return 404; } }',
    ...sites.flatMap((site) => {
      const locations = site.paths.map(({path, exact, target}) => location(path, exact, target))
      const plain = site.redirect ? ['location / { return 308 https://$host$request_uri; }'] : locations
      return [
        ...server([site.host], [listen(80, '')], undefined, plain),
        ...server([site.host], [listen(443, ' ssl')], site.certificate, locations),
      ]
    }),
    '}',
    '',
  ]
  return lines.join('\n')
}

function server(
  names: string[],
  listens: string[],
  tls: {key: string; cert: string} | undefined,
  body: string[],
): string[] {
  const certificate = tls === undefined ? [] : [`ssl_certificate ${tls.cert};`, `ssl_certificate_key ${tls.key};`]
  return [
    '  server {',
    ...[`server_name ${names.join(' ')};`, ...listens, ...certificate, ...body].map((line) => `    ${line}`),
    '  }',
  ]
}

function location(path: string, exact: boolean, target: string): string {
  const headers = [
    'Host $host',
    'X-Real-IP $remote_addr',
    'X-Forwarded-For $remote_addr',
    'X-Forwarded-Proto $scheme',
    'Upgrade $http_upgrade',
    'Connection $connection_upgrade',
  ]
  const lines = headers.map((header) => `proxy_set_header ${header};`)
  return `location ${exact ? '= ' : ''}${path} { ${lines.join(' ')} proxy_pass http://${target}; }`
}

function sitesOf(folder: string, state: IngressState): Site[] {
  const sites = new Map<string, Site>()
  for (const ingress of state.ingresses) {
    if (ingress.spec.ingressClassName !== INGRESS_CLASS) continue
    const namespace = ingress.metadata.namespace ?? 'default'
    for (const rule of ingress.spec.rules ?? []) {
      const host = rule.host ?? '_'
      const tls = ingress.spec.tls?.find(({hosts = []}) => hosts.includes(host))
      const own =
        tls?.secretName === undefined
          ? undefined
          : certificateOf(folder, `${namespace}/${tls.secretName}`, state.secrets)
      const redirect =
        tls !== undefined && ingress.metadata.annotations?.['nginx.ingress.kubernetes.io/ssl-redirect'] !== 'false'
      const site = sites.get(host) ?? {
        host,
        secure: tls !== undefined,
        redirect,
        certificate: own ?? state.certificate,
        paths: [],
      }
      site.paths.push(...(rule.http?.paths ?? []).flatMap((path) => targetOf(path, namespace, state.services)))
      sites.set(host, site)
    }
  }
  return [...sites.values()].filter(({paths}) => paths.length > 0)
}

function targetOf(path: Path, namespace: string, services: ReadonlyMap<string, Service>): Site['paths'] {
  const backend = path.backend.service
  const service = services.get(`${namespace}/${backend?.name}`)
  const port = backend?.port.number ?? service?.spec.ports?.find(({name}) => name === backend?.port.name)?.port
  if (service?.spec.clusterIP === undefined || port === undefined) return []
  return [{path: path.path ?? '/', exact: path.pathType === 'Exact', target: `${service.spec.clusterIP}:${port}`}]
}

function certificateOf(
  folder: string,
  key: string,
  secrets: ReadonlyMap<string, Secret>,
): {key: string; cert: string} | undefined {
  const data = secrets.get(key)?.data
  if (data?.['tls.crt'] === undefined || data['tls.key'] === undefined) return undefined
  const base = join(folder, `tls-${key.replace('/', '-')}`)
  writeFileSync(`${base}.crt`, Buffer.from(data['tls.crt'], 'base64'))
  writeFileSync(`${base}.key`, Buffer.from(data['tls.key'], 'base64'))
  return {key: `${base}.key`, cert: `${base}.crt`}
}

/** Whether a pod runs the bed's ingress. */
export function isIngressPod(pod: Pod): boolean {
  return pod.spec.containers.some(({image}) => image.includes('ingress-nginx/controller'))
}
