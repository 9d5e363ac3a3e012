import {atLeast} from '../../directives.ts'
import {types} from '../../simulate/dns-codes.ts'
import type {SetupContext} from '../context.ts'
import type {Dispenser} from '../dispenser.ts'
import {readNetwork} from '../go-values.ts'
import {zonesOrOfBlock} from '../zone-arguments.ts'

/** One policy of an `acl` line: the first that fits type and client decides. */
export interface AclPolicy {
  readonly action: 'allow' | 'block' | 'filter' | 'drop'
  /** Absent: every type. */
  readonly types?: readonly string[]
  /** Absent: every client. */
  readonly networks?: readonly string[]
}

export interface AclStanza {
  readonly zones: readonly string[]
  readonly policies: readonly AclPolicy[]
  readonly line: number
  readonly file: string
}

/** In: the tokens of all acl directives of a block. Out: its stanzas. Throws SetupError. Source: plugin/acl/setup.go. */
export function readAcl(dispenser: Dispenser, context: SetupContext): AclStanza[] {
  const stanzas: AclStanza[] = []
  while (dispenser.next()) {
    const {line = 0, file = ''} = dispenser.token ?? {}
    const zones = zonesOrOfBlock(dispenser.remainingArgs(), context.zones)
    const policies: AclPolicy[] = []
    while (dispenser.nextBlock()) policies.push(readPolicy(dispenser, context))
    stanzas.push({zones, policies, line, file})
  }
  return stanzas
}

function readPolicy(dispenser: Dispenser, context: SetupContext): AclPolicy {
  const word = dispenser.value.toLowerCase()
  const known = [
    'allow' as const,
    'block' as const,
    ...(atLeast(context.version, '1.8.2') ? ['filter' as const] : []),
    ...(atLeast(context.version, '1.10.1') ? ['drop' as const] : []),
  ]
  const action = known.find((one) => one === word)
  if (action === undefined) {
    throw dispenser.error(
      `unexpected token ${JSON.stringify(dispenser.value)}; expect 'allow', 'block', 'filter' or 'drop'`,
    )
  }
  let kinds: string[] | undefined
  let networks: string[] | undefined
  let args = dispenser.remainingArgs()
  while (args.length > 0) {
    const [word = ''] = args
    const section = word.toLowerCase()
    if (section !== 'type' && section !== 'net') {
      throw dispenser.error(`unexpected token ${JSON.stringify(word)}; expect 'type | net'`)
    }
    const end = args.findIndex((arg, index) => index > 0 && ['type', 'net'].includes(arg.toLowerCase()))
    const words = args.slice(1, end < 0 ? undefined : end)
    args = end < 0 ? [] : args.slice(end)
    if (words.length === 0) throw dispenser.error(`no token specified in ${JSON.stringify(section)} section`)
    if (section === 'type') kinds = [...(kinds ?? []), ...readTypes(words, dispenser)]
    else networks = [...(networks ?? []), ...readNetworks(words, dispenser)]
  }
  const anyType = kinds === undefined || kinds.includes('*')
  const anyClient = networks === undefined || networks.includes('*')
  return {
    action,
    ...(anyType ? {} : {types: kinds ?? []}),
    ...(anyClient ? {} : {networks: networks ?? []}),
  }
}

function readTypes(words: readonly string[], dispenser: Dispenser): string[] {
  for (const word of words) {
    if (word === '*') return ['*']
    if (!types.has(word)) throw dispenser.error(`unexpected token ${JSON.stringify(word)}; expect legal QTYPE`)
  }
  return [...words]
}

function readNetworks(words: readonly string[], dispenser: Dispenser): string[] {
  const found: string[] = []
  for (const word of words) {
    if (word === '*') return ['*']
    const network = word.includes('/') ? word : `${word}/${word.includes(':') ? 128 : 32}`
    if (readNetwork(network) === undefined) throw dispenser.error(`illegal CIDR notation ${JSON.stringify(network)}`)
    found.push(network)
  }
  return found
}
