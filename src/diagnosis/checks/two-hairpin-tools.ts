import {hairpinProxyComment, markerTexts} from '../../../plugins/coredns/src/index.ts'
import type {Diagnosis} from '../judged-way.ts'
import {advice, type Check, type Evidence} from './check.ts'

export const twoHairpinTools: Check = {
  id: 'SRC051',
  name: 'two-hairpin-tools',
  severity: 'error',
  means: 'Two tools against the hairpin write cluster DNS at once: they undo or shadow each other.',
  act: 'Keep one: `kubectl srcip coredns adopt` moves the lines in one write.',
  sources: ['https://github.com/lexfrei/ouroboros', 'https://github.com/compumike/hairpin-proxy'],
  run: (diagnosis) => {
    const found = toolsIn(diagnosis)
    if (found.size < 2) return []
    return [
      {
        title: `several tools against the hairpin: ${[...found.keys()].join(', ')}`,
        object: dnsObject(diagnosis),
        evidence: [...found.values()],
        remedies: [
          advice('adopt', 1, 'kubectl srcip coredns adopt, or remove all but one', 'only one may write cluster DNS'),
        ],
      },
    ]
  },
}

/** Tools that have lines in cluster DNS or run, each with one sign. */
function toolsIn({cluster}: Diagnosis): Map<string, Evidence> {
  const found = new Map<string, Evidence>()
  const {location} = cluster.dns
  const texts = location === undefined ? [] : [location.corefile.text, ...location.files.map((file) => file.text ?? '')]
  const object =
    location === undefined ? 'cluster DNS' : `configmap/${location.namespace}/${location.corefile.configMap}`
  const signs: readonly (readonly [string, string])[] = [
    ['srcip', '# === BEGIN srcip'],
    ['ouroboros', markerTexts.ouroboros.beginPrefix ?? markerTexts.ouroboros.begin],
    ['hairpin-proxy', hairpinProxyComment],
  ]
  for (const [tool, sign] of signs)
    if (texts.some((text) => text.includes(sign))) found.set(tool, {object, field: 'data', value: sign})
  for (const runner of [...cluster.runners.workloads, ...cluster.runners.pods]) {
    for (const {image} of runner.spec.containers) {
      const tool = /(?:^|\/)(ouroboros|hairpin-proxy)(?:-controller|-haproxy)?(?::|@|$)/.exec(image)?.[1]
      if (tool !== undefined && !found.has(tool))
        found.set(tool, {object: runner.object, field: 'spec.containers[].image', value: image})
    }
  }
  return found
}

/** The ConfigMap of cluster DNS, for findings about its text. */
export function dnsObject({cluster}: Diagnosis): string {
  const {location} = cluster.dns
  return location === undefined ? 'cluster DNS' : `configmap/${location.namespace}/${location.corefile.configMap}`
}
