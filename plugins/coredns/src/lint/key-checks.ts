import {atLeast} from '../directives.ts'
import {bindAddresses, checkListeners, hasView} from '../listeners.ts'
import {readServerKey} from '../server-keys.ts'
import {readAddress, readNetwork} from '../setup/go-values.ts'
import {splitTransport} from '../setup/zone-arguments.ts'
import type {ServerBlock, Token} from '../types.ts'
import type {Check, Subject} from './subject.ts'
import {found} from './subject.ts'

interface Key {
  readonly block: ServerBlock
  readonly text: string
  readonly token: Token
}

function keysOf({parsed}: Subject): Key[] {
  return parsed.blocks.flatMap((block) =>
    block.keys.flatMap((text, index) => {
      const token = block.keyTokens[index]
      return token === undefined ? [] : [{block, text, token}]
    }),
  )
}

const oddPort: Check = (subject) =>
  keysOf(subject).flatMap(({text, token}) => {
    const {rest} = splitTransport(text)
    const colon = rest.lastIndexOf(':')
    const port = rest.slice(colon + 1)
    // Addresses of version 6 have colons of their own; a lone scheme is another mistake.
    if (
      colon < 0 ||
      port === '' ||
      /^[+-]?\d+$/.test(port) ||
      rest.indexOf(':') !== colon ||
      port.includes('/') ||
      /[{}]/.test(port)
    )
      return []
    return [
      found(
        'CF050',
        token,
        `${JSON.stringify(port)} is no port number, so ${JSON.stringify(rest)} as a whole is the name of a zone`,
        'write the port in digits',
      ),
    ]
  })

const oddTransport: Check = (subject) =>
  keysOf(subject).flatMap(({text, token}) => {
    const match = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text)
    if (match === null || splitTransport(text).rest !== text) return []
    return [
      found(
        'CF051',
        token,
        `${match[0]} is no prefix that CoreDNS knows: it becomes part of the zone's name`,
        'use dns://, tls://, quic://, grpc://, https:// or https3:// in lower case',
      ),
    ]
  })

const capitals: Check = (subject) => {
  if (atLeast(subject.parsed.version, '1.14.7')) return []
  return keysOf(subject).flatMap(({text, token}) => {
    const {rest} = splitTransport(text)
    if (rest === rest.toLowerCase() || /:\/\//.test(rest)) return []
    return [
      found(
        'CF052',
        token,
        `queries are compared in lower case: before 1.14.7 no query ever meets ${JSON.stringify(rest)}`,
        'write the zone in lower case',
      ),
    ]
  })
}

const refusedKey: Check = (subject) => {
  const {error} = subject.inspected
  if (subject.parsed.error !== undefined || error === undefined) return []
  const token = subject.parsed.blocks[error.block ?? -1]?.keyTokens.find(({text}) =>
    error.message.includes(text.replace(/,$/, '')),
  )
  const at = token ?? {file: error.file === subject.parsed.path ? '' : error.file, line: error.line}
  if (token !== undefined && /[{}]$/.test(token.text) && token.text.length > 1) return []
  if (/:[^:/]*[^0-9:/][^:/]*$/.test(token?.text ?? '')) return []
  return [
    found(
      'CF053',
      at,
      error.message,
      'write the key as a zone name (. for the root), with a port in digits if it needs one',
    ),
  ]
}

const listeners: Check = (subject) => {
  const {parsed, inspected} = subject
  if (parsed.error !== undefined || inspected.error !== undefined || subject.setup.errors.length > 0) return []
  const error = checkListeners(parsed, inspected)
  if (error === undefined) return []
  const at = parsed.blocks[error.block ?? -1]?.keyTokens[0] ?? {file: '', line: error.line}
  if (error.message.includes('invalid port')) {
    return [found('CF057', at, error.message, 'use a port from 1 to 65535')]
  }
  if (error.message.includes('overlap')) {
    return [found('CF055', at, error.message, 'bind both blocks, or neither')]
  }
  const addresses = bindAddresses(parsed.blocks[error.block ?? -1] as ServerBlock)
  if (new Set(addresses).size < addresses.length) {
    return [found('CF061', at, `${error.message}: an address is named twice`, 'name each address once')]
  }
  return [found('CF054', at, error.message, 'put the plugins of both blocks into one')]
}

const networks: Check = (subject) => {
  if (atLeast(subject.parsed.version, '1.8.4')) return []
  return keysOf(subject).flatMap(({text, token}) => {
    const key = readServerKey(text, subject.parsed.version)
    if ('error' in key) return []
    const network = readNetwork(splitTransport(text).rest.replace(/:\d+$/, ''))
    if (network === undefined || network.length % (network.family === 4 ? 8 : 4) === 0) return []
    return [
      found(
        'CF056',
        token,
        'before 1.8.4 only the first of the zones that this network covers is served',
        'name the zones one by one',
      ),
    ]
  })
}

const bareAddress: Check = (subject) =>
  keysOf(subject).flatMap(({text, token}) => {
    const host = splitTransport(text).rest.replace(/:\d+$/, '')
    if (readAddress(host) === undefined) return []
    return [
      found(
        'CF058',
        token,
        `${host} is a zone of that name, not an address to listen on or a network`,
        'write a zone; for an address use bind, for a reverse zone a network (10.0.0.0/24)',
      ),
    ]
  })

/** A query to a bound address sees the zones of the blocks bound to it, and no others. */
const bindSplits: Check = ({parsed, inspected}) => {
  if (parsed.error !== undefined || inspected.error !== undefined) return []
  const roots = new Map<string, boolean>()
  const placed = inspected.zones.flatMap((zone) => {
    const block = parsed.blocks[zone.block]
    return block === undefined
      ? []
      : bindAddresses(block).map((address) => ({
          zone,
          block,
          key: `${zone.transport}:${zone.port}:${address}`,
          address,
        }))
  })
  for (const {key, zone} of placed) roots.set(key, (roots.get(key) ?? false) || zone.zone === '.')
  const rooted = new Set(placed.flatMap(({zone}) => (zone.zone === '.' ? `${zone.transport}:${zone.port}` : [])))
  const seen = new Set<string>()
  return placed.flatMap(({zone, block, key, address}) => {
    const elsewhere = rooted.has(`${zone.transport}:${zone.port}`)
    if (address === '' || roots.get(key) === true || !elsewhere || seen.has(key)) return []
    seen.add(key)
    const at = block.tokens.get('bind')?.[0] ?? block.keyTokens[0] ?? {file: '', line: 0}
    return [
      found(
        'CF059',
        at,
        `${address} answers for the zones bound to it alone: every other name is refused there, though another block has the root`,
        `bind the root block to ${address} too`,
      ),
    ]
  })
}

const unix: Check = (subject) =>
  keysOf(subject)
    .filter(({text}) => text.startsWith('unix://'))
    .map(({token}) => found('CF060', token, 'CoreDNS takes unix:// and then listens nowhere', 'use another transport'))

const lateView: Check = ({parsed, inspected}) => {
  if (parsed.error !== undefined || inspected.error !== undefined) return []
  const open = new Set<string>()
  const told = new Set<number>()
  return inspected.zones.flatMap((zone) => {
    const block = parsed.blocks[zone.block]
    if (block === undefined) return []
    const keys = bindAddresses(block).map((address) => `${zone.transport}://${zone.zone}:${zone.port} ${address}`)
    const late = hasView(block) && keys.some((key) => open.has(key)) && !told.has(zone.block)
    if (!hasView(block)) for (const key of keys) open.add(key)
    if (!late) return []
    told.add(zone.block)
    const at = block.tokens.get('view')?.[0] ?? block.keyTokens[0] ?? {file: '', line: 0}
    return [
      found(
        'CF075',
        at,
        'a block of the same zone without a view stands above: it takes every query, and this view is never asked',
        'put the block with the view first',
      ),
    ]
  })
}

/** Section 3 of the reference: server keys and listeners. */
export const keyChecks: readonly Check[] = [
  oddPort,
  oddTransport,
  capitals,
  refusedKey,
  listeners,
  networks,
  bareAddress,
  bindSplits,
  unix,
  lateView,
]
