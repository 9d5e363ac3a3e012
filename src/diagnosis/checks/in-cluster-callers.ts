import {field, record, text} from '../../model/fields.ts'
import type {Diagnosis, JudgedWay} from '../judged-way.ts'
import {namesOfWay} from '../path/names.ts'
import {advice, type Check, type Draft} from './check.ts'

export const inClusterCallers: Check = {
  id: 'SRC041',
  name: 'in-cluster-callers',
  severity: 'info',
  means:
    'Something in the cluster calls a public name of the cluster itself: an auth-url of an Ingress, or a Service of type ExternalName. Where the hairpin is broken, it fails; where PROXY is off, it fails as soon as PROXY goes on.',
  act: 'Let it call the Service inside the cluster, or fix the hairpin first.',
  sources: [
    'https://github.com/kubernetes/ingress-nginx/blob/dbb11b92d/docs/user-guide/nginx-configuration/annotations.md',
  ],
  run: (diagnosis) => [...authUrls(diagnosis), ...externalNames(diagnosis)],
}

function authUrls(diagnosis: Diagnosis): Draft[] {
  const key = 'nginx.ingress.kubernetes.io/auth-url'
  return diagnosis.cluster.index.list('Ingress', 'networking.k8s.io').flatMap((ingress) => {
    const url = ingress.metadata.annotations?.[key]
    const host = /^https?:\/\/([^/:?#$]+)/i.exec(url ?? '')?.[1]?.toLowerCase()
    if (url === undefined || host === undefined || !isPublic(diagnosis, host)) return []
    const object = `ingress/${ingress.metadata.namespace ?? 'default'}/${ingress.metadata.name}`
    return [
      draft(diagnosis, object, host, `Ingress ${object.slice(8)} calls https://${host} from inside the cluster`, {
        object,
        field: `metadata.annotations["${key}"]`,
        value: `https://${host}`,
      }),
    ]
  })
}

function externalNames(diagnosis: Diagnosis): Draft[] {
  return diagnosis.cluster.index.list('Service', '').flatMap((service) => {
    const spec = record(service['spec'])
    const host = text(field(spec, 'externalName'))?.toLowerCase().replace(/\.$/, '')
    if (field(spec, 'type') !== 'ExternalName' || host === undefined || !isPublic(diagnosis, host)) return []
    const object = `service/${service.metadata.namespace ?? 'default'}/${service.metadata.name}`
    return [
      draft(
        diagnosis,
        object,
        host,
        `Service ${object.slice(8)} is another name for ${host}: whoever calls it comes from inside the cluster`,
        {object, field: 'spec.externalName', value: host},
      ),
    ]
  })
}

function draft(
  diagnosis: Diagnosis,
  object: string,
  host: string,
  title: string,
  evidence: {object: string; field: string; value: string},
): Draft {
  const ways = diagnosis.ways.filter((way) => namesOfWay(way.facts).some((name) => covers(name.name, host)))
  const broken = ways.some((way) => fails(way))
  const after = broken
    ? 'and the hairpin is broken: it fails'
    : 'it breaks as soon as PROXY is on, unless the hairpin is fixed first'
  return {
    title: `${title}; ${after}`,
    object,
    severity: broken ? 'warning' : 'info',
    evidence: [evidence],
    remedies: [
      advice('inside-name', 1, 'call the Service by its name inside the cluster instead', 'no public name, no hairpin'),
    ],
  }
}

function fails({hairpin}: JudgedWay): boolean {
  return hairpin.verdict === 'broken' || hairpin.verdict === 'half-broken'
}

function isPublic(diagnosis: Diagnosis, host: string): boolean {
  return diagnosis.cluster.names.some((name) => covers(name.name, host))
}

/** Does a name, or a wildcard, stand for this host? */
function covers(name: string, host: string): boolean {
  return name === host || (name.startsWith('*.') && host.endsWith(name.slice(1)))
}
