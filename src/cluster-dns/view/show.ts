import {posix} from 'node:path'
import {
  hashOfParsed,
  hasReload,
  markerTexts,
  parseCorefile,
  pluginOrder,
  type Directive,
  type ParsedCorefile,
  type ServerBlock,
} from '../../../plugins/coredns/src/index.ts'
import type {CorednsSource} from '../../model/coredns-plan.ts'
import type {CorednsBlock, CorednsRewrite, CorednsShow} from '../../model/coredns-view.ts'
import {apiVersion} from '../../model/documents.ts'
import {clusterDomainOf} from '../plan/targets.ts'
import type {DnsLocation} from '../../platforms/dns/locate.ts'
import type {DnsState} from '../types.ts'
import {parseOptionsOf, parseState} from './parsed-state.ts'

/** Describes cluster DNS as it is: blocks, who answers what, what is ours. Pure. */
export function showState(state: DnsState): CorednsShow {
  const parsed = parseState(state)
  const hash = hashOfParsed(parseCorefile(state.corefile.bytes, {...parseOptionsOf(state), directives: false}))
  const sections = markedLines(state)
  const {location} = state
  return {
    apiVersion,
    kind: 'CorednsShow',
    sources: [sourceOf(state)],
    coredns: {
      ...releaseOf(state),
      clusterDomain: clusterDomainOf(parsed) ?? '',
      corefile: state.corefilePath,
      ...(location === undefined ? {} : {image: location.container.image}),
    },
    reload: hasReload(parsed),
    hash: {
      sha512: hash.algorithm === 'sha512' ? hash.value : null,
      unknown: hash.unknown.map((unknown) => `${unknown.kind} ${unknown.name}`),
    },
    blocks: parsed.blocks.map((block) => describeBlock(block, parsed, sections)),
    ...(location === undefined
      ? {}
      : {
          service: `${location.namespace}/${location.service.name}`,
          pods: location.pods.map((pod) => ({
            name: `${pod.namespace}/${pod.name}`,
            counting: pod.counting,
            ...(pod.reason === undefined ? {} : {reason: pod.reason}),
          })),
          ...(location.owner === undefined
            ? {}
            : {owner: {title: location.owner.title, evidence: location.owner.evidence, lasts: location.owner.lasts}}),
          ...(location.nodeLocal === undefined
            ? {}
            : {
                nodeLocalDns: {
                  daemonSet: `${location.nodeLocal.namespace}/${location.nodeLocal.daemonSet}`,
                  addresses: location.nodeLocal.addresses,
                },
              }),
        }),
    exitCode: 0,
    changed: false,
    warnings: location === undefined ? [] : locationWarnings(location),
  }
}

/** What a person should know of objects that were passed over, or must not be read. */
export function locationWarnings({ignored, forbidden}: DnsLocation): string[] {
  return [
    ...ignored.map(({object, reason}) => `${object} is passed over: it ${reason}`),
    ...forbidden.map((object) => {
      const [namespace, name] = object.split('/')
      return `configmap/${object} may not be read, so what it says is not known: not allowed to get configmaps/${name} in namespace ${namespace}`
    }),
  ]
}

/** The release that a state was read with, as documents tell it. */
export function releaseOf({version, versionKnown}: DnsState): {version: string; versionAssumed?: true} {
  return {version, ...(versionKnown ? {} : {versionAssumed: true})}
}

/** The text that a state was read from, as documents name it. */
export function sourceOf(state: DnsState): CorednsSource {
  const {source, key, resourceVersion} = state.corefile
  if (state.origin === 'file') return {file: key, key: 'Corefile'}
  return {object: source, key, ...(resourceVersion === undefined ? {} : {resourceVersion})}
}

function describeBlock(block: ServerBlock, parsed: ParsedCorefile, sections: readonly MarkedLines[]): CorednsBlock {
  const order = pluginOrder(parsed.version)
  const names = [...new Set(block.directives.map((directive) => directive.name))]
  const first = block.keyTokens[0]
  return {
    keys: block.keys,
    file: first?.file ?? '',
    line: first?.line ?? 0,
    plugins: names.toSorted((left, right) => (order.get(left) ?? 0) - (order.get(right) ?? 0)),
    imports: parsed.imports.filter((use) => use.block === block.index).map((use) => use.pattern),
    rewrites: block.directives
      .filter((directive) => directive.name === 'rewrite')
      .map((directive) => describeRewrite(directive, sections)),
  }
}

function describeRewrite(directive: Directive, sections: readonly MarkedLines[]): CorednsRewrite {
  const {file = '', line = 0} = directive.tokens[0] ?? {}
  return {file, line, text: textOf(directive), owner: ownerOf(file, line, sections)}
}

/** A directive on one line, as written but for its layout. */
function textOf(directive: Directive): string {
  return directive.tokens.map((token) => token.text).join(' ')
}

interface MarkedLines {
  readonly owner: 'srcip' | 'ouroboros'
  readonly from: number
  readonly to: number
}

/** Lines between well-formed markers of the Corefile; damaged ones claim nothing. */
function markedLines(state: DnsState): MarkedLines[] {
  const lines = Buffer.from(state.corefile.bytes).toString('utf8').split('\n')
  const found: MarkedLines[] = []
  for (const owner of ['srcip', 'ouroboros'] as const) {
    let from: number | undefined
    for (const [index, line] of lines.entries()) {
      const text = line.trim()
      const {begin, end, beginPrefix, endPrefix} = markerTexts[owner]
      if (text === begin || (beginPrefix !== undefined && text.startsWith(beginPrefix))) from = index + 1
      else if (from !== undefined && (text === end || (endPrefix !== undefined && text.startsWith(endPrefix)))) {
        found.push({owner, from, to: index + 1})
        from = undefined
      }
    }
  }
  return found
}

function ownerOf(file: string, line: number, sections: readonly MarkedLines[]): CorednsRewrite['owner'] {
  const stem = posix.basename(file).split('.')[0]
  if (file !== '') return stem === 'srcip' || stem === 'ouroboros' ? stem : 'other'
  return sections.find((section) => section.from < line && line < section.to)?.owner ?? 'other'
}
