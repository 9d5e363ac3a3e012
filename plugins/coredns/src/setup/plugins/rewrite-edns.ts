import {atLeast} from '../../directives.ts'
import type {RuleBody, RuleReader} from './rewrite-rule.ts'

/** `rewrite edns0 local|nsid|subnet ACTION …`: an option of the request. It never changes name, type or reply code. */
export function readEdnsRule(args: readonly string[], reader: RuleReader): RuleBody {
  const {version} = reader.context
  if (args.length < 2) return reader.refuse('too few arguments for an EDNS0 rule')
  const [option = '', action = ''] = args.slice(0, 2).map((arg) => arg.toLowerCase())
  const actions = atLeast(version, '1.12.3') ? ['append', 'replace', 'set', 'unset'] : ['append', 'replace', 'set']
  if (!actions.includes(action)) return reader.refuse(`invalid action: ${JSON.stringify(action)}`)
  if (!['local', 'nsid', 'subnet'].includes(option)) return reader.refuse(`invalid rule type ${JSON.stringify(option)}`)
  if (action === 'unset') return readUnset(option, args, reader)
  const rest = atLeast(version, '1.11.4') && args.at(-1) === 'revert' ? args.slice(0, -1) : args
  if (option === 'nsid') {
    if (rest.length !== 2) return reader.refuse('EDNS0 NSID rules can accept no more than one arg')
  } else if (rest.length !== 4) return reader.refuse(`EDNS0 ${option} rules require three or four args`)
  if (option === 'local') checkLocal(rest[2] ?? '', rest[3] ?? '', reader)
  if (option === 'subnet') checkSubnet(rest[2] ?? '', rest[3] ?? '', reader)
  return {field: 'edns0', action, option}
}

function readUnset(option: string, args: readonly string[], reader: RuleReader): RuleBody {
  const wanted = option === 'local' ? 3 : 2
  if (args.length !== wanted) {
    return reader.refuse(`${option} unset action requires exactly ${wanted === 3 ? 'two arguments' : 'one argument'}`)
  }
  if (option === 'local') checkLocal(args[2] ?? '', '', reader)
  return {field: 'edns0', action: 'unset', option}
}

const variables = new Set([
  '{qname}',
  '{qtype}',
  '{client_ip}',
  '{client_port}',
  '{protocol}',
  '{server_ip}',
  '{server_port}',
])

function checkLocal(code: string, data: string, reader: RuleReader): void {
  checkNumber(code, reader)
  if (data.startsWith('{') && data.endsWith('}')) {
    // Metadata labels look like {plugin/name}.
    if (!variables.has(data) && !/^\{[^/{}]+\/[^{}]+\}$/.test(data)) {
      reader.refuse(`unsupported variable name ${JSON.stringify(data)}`)
    }
    return
  }
  if (!data.startsWith('0x')) return
  const digits = data.slice(2)
  const wrong = /[^0-9A-Fa-f]/.exec(digits)
  if (wrong !== null) {
    const code = wrong[0].codePointAt(0) ?? 0
    reader.refuse(`encoding/hex: invalid byte: U+${code.toString(16).toUpperCase().padStart(4, '0')} '${wrong[0]}'`)
  }
  if (digits.length % 2 === 1) reader.refuse('encoding/hex: odd length hex string')
}

function checkSubnet(four: string, six: string, reader: RuleReader): void {
  if (checkNumber(four, reader) > 32) reader.refuse(`invalid IPv4 bit mask length ${Number(four)}`)
  if (checkNumber(six, reader) > 128) reader.refuse(`invalid IPv6 bit mask length ${Number(six)}`)
}

/** Go's strconv.ParseUint(text, 0, 16). */
function checkNumber(text: string, reader: RuleReader): number {
  const match = /^(?:0[xX]([0-9A-Fa-f]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(\d+))$/.exec(text)
  if (match === null) return reader.refuse(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`)
  const [, hex, binary, octal, decimal] = match
  const value =
    hex !== undefined
      ? Number.parseInt(hex, 16)
      : binary !== undefined
        ? Number.parseInt(binary, 2)
        : octal !== undefined
          ? Number.parseInt(octal, 8)
          : Number(decimal)
  if (value > 65_535) return reader.refuse(`strconv.ParseUint: parsing ${JSON.stringify(text)}: value out of range`)
  return value
}
