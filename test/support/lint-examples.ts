import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {parse} from 'yaml'
import type {LintId, LintOptions, ParseOptions} from '../../plugins/coredns/src/index.ts'
import {parseVersion} from '../../plugins/coredns/src/index.ts'
import {cluster} from './simulator-cases.ts'

/** What a real CoreDNS shows of an example. */
export interface Observed {
  readonly refused?: string
  readonly ask?: string
  readonly at?: string
  readonly failing?: string
  readonly passing?: string
  readonly log?: string
  readonly unobserved?: string
}

export interface LintExample {
  readonly id: LintId
  readonly frame?: 'block'
  readonly version?: string
  readonly env?: Readonly<Record<string, string>> | 'unknown'
  readonly imports?: 'unknown'
  readonly files?: Readonly<Record<string, string>>
  readonly passingFiles?: Readonly<Record<string, string>>
  readonly cluster?: boolean
  readonly repeat?: number
  readonly fill?: number
  readonly failing: string
  readonly passing: string
  readonly observed: Observed
}

/** The table of examples. */
export const lintExamples: readonly LintExample[] = (
  parse(readFileSync(fileURLToPath(new URL('../cases/lint-examples.yaml', import.meta.url)), 'utf8')) as {
    rules: LintExample[]
  }
).rules

/** In: the text of an example. Out: the whole Corefile. */
export function corefileOf(example: LintExample, side: 'failing' | 'passing'): string {
  let text = example[side].replace(/\n$/, '')
  if (side === 'failing' && example.repeat !== undefined) {
    text = Array.from({length: example.repeat}, (_, index) => text.replace('%', String(index))).join('\n    ')
  }
  if (example.fill !== undefined) text = text.replace('%', 'a'.repeat(example.fill))
  if (example.frame === undefined) return `${text}\n`
  return `.:53 {\n    errors\n    ${text}\n    kubernetes cluster.local in-addr.arpa ip6.arpa {\n        fallthrough in-addr.arpa ip6.arpa\n    }\n    forward . 192.0.2.53\n    reload\n}\n`
}

/** In: a text in which ¿ stands for the byte 0xFF. Out: its bytes. */
export function bytesOf(text: string): Uint8Array {
  const parts = text.split('¿').map((part) => new TextEncoder().encode(part))
  return Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [Uint8Array.of(0xff), part])))
}

const folder = '/etc/coredns'

/** In: an example and its side. Out: what lint is told beside the text. */
export function optionsOf(example: LintExample, side: 'failing' | 'passing'): LintOptions {
  const files = (side === 'passing' ? example.passingFiles : undefined) ?? example.files ?? {}
  const version = parseVersion(example.version ?? '1.14.7')
  const known = new Map(example.env === undefined || example.env === 'unknown' ? [] : Object.entries(example.env))
  const options: ParseOptions = {
    path: `${folder}/Corefile`,
    files: new Map(Object.entries(files).map(([name, text]) => [`${folder}/${name}`, new TextEncoder().encode(text)])),
    env: {known, others: example.env === 'unknown' ? 'unknown' : 'unset'},
    ...(version === undefined ? {} : {version}),
    ...(example.imports === undefined ? {} : {imports: example.imports}),
  }
  return {parse: options, ...(example.cluster === true ? {cluster} : {})}
}
