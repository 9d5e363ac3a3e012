import {readAddress} from '../setup/go-values.ts'
import {classes, types} from './dns-codes.ts'
import {fqdn, isDomainName} from './dns-name.ts'
import type {DnsRecord} from './message.ts'
import {AnswerUnknown} from './run.ts'

/**
 * In: a record in zone file form, as `dns.NewRR` takes it (relative names belong to the root). Out: the record, or
 * undefined where CoreDNS would fail. Throws AnswerUnknown for forms that are not followed.
 */
export function recordOf(text: string): DnsRecord | undefined {
  if (/[;()@$]|\\(?!\d{3})/.test(text)) throw new AnswerUnknown(`record text ${text.slice(0, 60)} is not followed`)
  const words = text.match(/"[^"]*"|[^\s"]+/g) ?? []
  const [owner = '', ...rest] = words
  if (words.length === 0 || /^\s/.test(text)) throw new AnswerUnknown('a record without an owner is not followed')
  let ttl = 3600
  let type: string | undefined
  while (type === undefined) {
    const word = rest.shift()
    if (word === undefined) return undefined
    const upper = word.toUpperCase()
    if (/^\d+$/.test(word)) ttl = Number(word)
    else if (types.has(upper)) type = upper
    else if (!classes.has(upper)) {
      if (/^(\d+[smhdw])+$/i.test(word) || /^(type|class)\d+$/i.test(word)) {
        throw new AnswerUnknown(`record text ${text.slice(0, 60)} is not followed`)
      }
      return undefined
    }
  }
  if (!isDomainName(owner)) return undefined
  return dataOf(fqdn(owner), type, ttl, rest)
}

function dataOf(name: string, type: string, ttl: number, words: readonly string[]): DnsRecord | undefined {
  const [first = '', second = ''] = words
  const plain = (data: string): DnsRecord => ({name, type, ttl, data})
  const pointing = (target: string, data = ''): DnsRecord | undefined =>
    isDomainName(target) ? {name, type, ttl, target: fqdn(target), data} : undefined
  switch (type) {
    case 'A':
    case 'AAAA': {
      const address = readAddress(first)
      const fits = address !== undefined && (type === 'A' ? address.family === 4 : first.includes(':'))
      return fits && words.length === 1 ? plain(address.text) : undefined
    }
    case 'CNAME':
    case 'NS':
    case 'PTR':
    case 'DNAME':
      return words.length === 1 ? pointing(first) : undefined
    case 'MX':
      return words.length === 2 && /^\d{1,5}$/.test(first) ? pointing(second, first) : undefined
    case 'SRV':
      return words.length === 4 && words.slice(0, 3).every((word) => /^\d{1,5}$/.test(word))
        ? pointing(words[3] ?? '', words.slice(0, 3).join(' '))
        : undefined
    case 'TXT':
      return words.length > 0 ? plain(words.map((word) => word.replace(/^"|"$/g, '')).join('')) : undefined
    case 'SOA':
      return words.length === 7 ? pointing(first, words.slice(1).join(' ')) : undefined
    case 'HINFO':
      return plain(words.join(' '))
    default:
      throw new AnswerUnknown(`records of type ${type} are not followed`)
  }
}
