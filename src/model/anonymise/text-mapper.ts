import {AddressMapper, type Digest} from './address-mapper.ts'
import {knownWords, providerDomains, publicRegistries, softwareWords, systemDomains} from './known-words.ts'

/** Runs of name characters; `\.` and `[.]` are dots of a name inside a regular expression. */
const nameRun = /[A-Za-z0-9_](?:(?:[A-Za-z0-9_-]|\\?\.|\[\.\])*[A-Za-z0-9_])?/g
const regexDot = /\\\.|\[\.\]/g
const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi
const ipv4 = /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2})?(?![\d/])(?!\.\d)(?!\.in-addr)/g
const ipv6 = /(?<![\w:.])(?=[0-9a-fA-F]*:[0-9a-fA-F]*:)[0-9a-fA-F:]{2,39}(?:\.\d{1,3}){0,3}(?:\/\d{1,3})?(?![\w:])/g

/** What follows the dot in names of files. */
const fileEnds: ReadonlySet<string> = new Set([
  'conf',
  'yaml',
  'yml',
  'json',
  'toml',
  'pem',
  'crt',
  'key',
  'sock',
  'db',
  'log',
  'txt',
  'so',
])

/** Domains of projects and vendors that stand in everybody's settings. */
const publicOwners: ReadonlySet<string> = new Set([
  'k8s',
  'kubernetes',
  'github',
  'githubusercontent',
  'google',
  'googleapis',
  'letsencrypt',
  'cloudflare',
])

/**
 * Replaces what names somebody's things, everywhere by the same: words of names that were learned, host names below domains
 * that were learned, addresses, UUIDs. Names are taken apart at dots and hyphens, and known words in them stay, so what
 * begins or ends with another name still does.
 */
export class TextMapper {
  readonly #words = new Map<string, string>()
  readonly #domains = new Set<string>()
  readonly #addresses: AddressMapper
  readonly #digest: Digest

  constructor(digest: Digest) {
    this.#digest = digest
    this.#addresses = new AddressMapper(digest)
  }

  /** Learns the words of a name (of an object, a namespace, a label's value). */
  learnName(name: string): void {
    for (const word of name.split(/[^A-Za-z0-9]+/)) this.#learnWord(word)
  }

  /** Learns a host name: its labels, and the domain that all names below share. */
  learnHost(host: string): void {
    const labels = host.toLowerCase().replace(/^\*\./, '').split('.')
    if (labels.length < 2 || /^[0-9.]+$/.test(host) || isSystemName(host.toLowerCase())) return this.learnName(host)
    const provider = providerOf(host.toLowerCase())
    if (provider === undefined) this.#domains.add(labels.slice(-2).join('.'))
    for (const label of labels.slice(0, provider === undefined ? -2 : -provider.split('.').length))
      this.learnName(label)
  }

  /** Learns the registry and path of an image that does not come from a public registry. */
  learnImage(image: string): void {
    const [host = '', ...path] = image.split('@')[0]?.split('/') ?? []
    if (path.length === 0 || !/[.:]/.test(host) || publicRegistries.has(host)) return
    // `cr.kgateway.dev`: who makes the software, not who runs it.
    if (softwareWords.has(host.split('.').at(-2) ?? '')) return
    this.learnHost(host.replace(/:\d+$/, ''))
    for (const part of path) this.learnName(part.split(':')[0] ?? '')
  }

  /** Learns the hosts of URLs and mail addresses in a text. */
  learnText(text: string): void {
    for (const [, host = ''] of text.matchAll(/(?::\/\/|@)((?:[\w-]+\.)+[a-z]{2,})/gi)) this.#learnStrangeHost(host)
  }

  /** Learns every name in a Corefile: zones, hosts, upstreams. Names of files and of API groups are none. */
  learnCorefile(text: string): void {
    for (const [host] of text.matchAll(/(?<![\w./-])(?:[\w-]+(?:\\?\.|\[\.\]))+[a-z]{2,}(?![\w/])/gi))
      this.#learnStrangeHost(host.replace(regexDot, '.'))
  }

  /** A text of any kind with everything replaced that is known to name something. */
  text(text: string): string {
    // Addresses first, and kept apart: their digits must not be taken for words.
    const parts = text.replace(uuid, (found) => this.#uuid(found.toLowerCase()))
    const addressed = parts
      .replace(ipv6, (found) => this.#addresses.map(found) ?? found)
      .replace(ipv4, (found) => this.#addresses.map(found) ?? found)
    return addressed.replace(nameRun, (found, at: number) => (isFlag(addressed, at) ? found : this.#name(found)))
  }

  /** The key of a map: only host names in it are replaced, since settings are found by their keys. */
  key(key: string): string {
    return key.replace(nameRun, (found) =>
      this.#domainOf(found.toLowerCase()) === undefined ? found : this.#name(found),
    )
  }

  #learnStrangeHost(host: string): void {
    const [owner = '', end = ''] = host.toLowerCase().split('.').slice(-2)
    if (!fileEnds.has(end) && !softwareWords.has(owner) && !publicOwners.has(owner)) this.learnHost(host)
  }

  #learnWord(word: string): void {
    if (isOpen(word.toLowerCase()) || this.#words.has(word)) return
    this.#words.set(word, `t${this.#words.size + 1}`)
  }

  #name(found: string): string {
    // All dots of a name are written alike.
    const dot = found.match(regexDot)?.[0] ?? '.'
    const plain = found.replace(regexDot, '.')
    const domain = this.#domainOf(plain.toLowerCase())
    const mapped =
      domain === undefined
        ? this.#wordsOf(plain)
        : `${this.#wordsOf(plain.slice(0, plain.length - domain.length).toLowerCase())}${this.#domain(domain)}`
    return mapped.replaceAll('.', dot)
  }

  #wordsOf(text: string): string {
    return text.replace(/[A-Za-z0-9]+/g, (word) => this.#words.get(word) ?? word)
  }

  #domain(domain: string): string {
    const key = `domain ${domain}`
    let mapped = this.#words.get(key)
    if (mapped === undefined) {
      mapped = `d${this.#words.size + 1}.example`
      this.#words.set(key, mapped)
    }
    return mapped
  }

  #domainOf(name: string): string | undefined {
    if (!name.includes('.')) return undefined
    const domain = name.split('.').slice(-2).join('.')
    return this.#domains.has(domain) ? domain : undefined
  }

  #uuid(found: string): string {
    const hex = this.#digest(`uuid ${found}`).padEnd(32, '0')
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20, 32),
    ].join('-')
  }
}

/** Words that stay: known ones, numbers, versions, single letters. */
function isOpen(word: string): boolean {
  return word.length < 2 || /^v?\d+$/.test(word) || knownWords.has(word)
}

/** `--name` and `-name`: the name of a flag, not of a thing. */
function isFlag(text: string, at: number): boolean {
  return text[at - 1] === '-' && (at === 1 || text[at - 2] === '-' || /[\s"'[,(]/.test(text[at - 2] ?? ' '))
}

function providerOf(host: string): string | undefined {
  return providerDomains.find((domain) => host === domain || host.endsWith(`.${domain}`))
}

function isSystemName(host: string): boolean {
  return systemDomains.some((domain) => host === domain || host.endsWith(`.${domain}`))
}
