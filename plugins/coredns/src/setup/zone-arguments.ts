import {isDomainName, normalizeName} from '../simulate/dns-name.ts'
import {addressBits, readNetwork} from './go-values.ts'

const transports = ['tls://', 'dns://', 'quic://', 'grpc://', 'https3://', 'https://', 'unix://']

/** In: an address as in a server key. Out: transport (default dns) and the rest. Lower case only, as in CoreDNS. */
export function splitTransport(text: string): {readonly transport: string; readonly rest: string} {
  const prefix = transports.find((candidate) => text.startsWith(candidate))
  if (prefix === undefined) return {transport: 'dns', rest: text}
  return {transport: prefix.slice(0, -3), rest: text.slice(prefix.length)}
}

/**
 * In: a zone argument of a plugin (a name, a CIDR, also with transport and port). Out: its zones, normalised; none when
 * CoreDNS cannot read it, which it passes over in silence. Source: plugin/normalize.go, corefile.md 3.
 */
export function zonesOfArgument(argument: string): string[] {
  const {rest} = splitTransport(argument)
  const colon = rest.lastIndexOf(':')
  if (colon >= 0 && colon === rest.length - 1) return []
  const host = colon >= 0 && /^[+-]?\d+$/.test(rest.slice(colon + 1)) ? rest.slice(0, colon) : rest
  if (new TextEncoder().encode(host).length > 255 || !isDomainName(host)) return []
  const reverse = reverseZones(host)
  return reverse ?? [normalizeName(host)]
}

/** In: zone arguments and the zones of the block's keys. Out: the arguments' zones, or the block's where there is none. */
export function zonesOrOfBlock(args: readonly string[], blockZones: readonly string[]): string[] {
  return args.length === 0 ? [...blockZones] : args.flatMap(zonesOfArgument)
}

function reverseZones(host: string): string[] | undefined {
  const network = readNetwork(host)
  if (network === undefined) return undefined
  if (host.startsWith(':') || (host.startsWith('0') && host.includes(':'))) return []
  const step = network.family === 4 ? 8 : 4
  const length = Math.ceil(network.length / step) * step
  const free = length - network.length
  const fixed = network.bits.slice(0, network.length)
  return Array.from({length: 2 ** free}, (_, index) => {
    const bits = fixed + (free === 0 ? '' : index.toString(2).padStart(free, '0'))
    const labels: string[] = []
    for (let at = 0; at < bits.length; at += step) {
      const value = Number.parseInt(bits.slice(at, at + step), 2)
      labels.unshift(network.family === 4 ? String(value) : value.toString(16))
    }
    return `${[...labels, network.family === 4 ? 'in-addr' : 'ip6', 'arpa'].join('.')}.`
  })
}

/** In: a reverse name (in-addr.arpa or ip6.arpa). Out: the address it stands for, undefined for any other name. */
export function addressOfReverseName(name: string): string | undefined {
  const four = /^(.*)\.in-addr\.arpa\.$/.exec(name)
  if (four !== null) {
    const text = (four[1] ?? '').split('.').reverse().join('.')
    return addressBits(text) === undefined ? undefined : text
  }
  const six = /^((?:[0-9a-f]\.){31}[0-9a-f])\.ip6\.arpa\.$/.exec(name)
  if (six === null) return undefined
  const digits = (six[1] ?? '').split('.').reverse().join('')
  return digits.match(/.{4}/g)?.join(':')
}
