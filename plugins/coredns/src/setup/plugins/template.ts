import {atLeast} from '../../directives.ts'
import {classes, rcodes, types} from '../../simulate/dns-codes.ts'
import type {Regex} from '../../simulate/re2/regex.ts'
import {compileRegex} from '../../simulate/re2/regex.ts'
import type {SetupContext} from '../context.ts'
import type {Dispenser} from '../dispenser.ts'
import {readUnsigned} from '../go-values.ts'
import {zonesOfArgument, zonesOrOfBlock} from '../zone-arguments.ts'
import {longestPattern} from './rewrite-rule.ts'

/** One `template` stanza. Patterns without `regex` are those we cannot judge. */
export interface TemplateStanza {
  readonly class: string
  readonly type: string
  readonly zones: readonly string[]
  readonly patterns: readonly {readonly source: string; readonly regex?: Regex}[]
  readonly answers: readonly string[]
  readonly additional: readonly string[]
  readonly authority: readonly string[]
  readonly rcode: string
  readonly ederror: boolean
  /** Zones for which a name that no pattern matches goes on; absent: never. */
  readonly fallthrough: readonly string[]
  readonly line: number
  readonly file: string
}

/** In: the tokens of all template directives of a block. Out: its stanzas. Throws SetupError. Source: plugin/template/setup.go. */
export function readTemplates(dispenser: Dispenser, context: SetupContext): TemplateStanza[] {
  const stanzas: TemplateStanza[] = []
  while (dispenser.next()) stanzas.push(readStanza(dispenser, context))
  return stanzas
}

function readStanza(dispenser: Dispenser, context: SetupContext): TemplateStanza {
  const {line = 0, file = ''} = dispenser.token ?? {}
  if (!dispenser.nextArg()) throw dispenser.argumentError()
  const klass = dispenser.value
  if (!classes.has(klass)) throw dispenser.error(`invalid query class ${klass}`)
  if (!dispenser.nextArg()) throw dispenser.argumentError()
  const type = dispenser.value
  if (!types.has(type) && type !== 'None') throw dispenser.error(`invalid RR class ${type}`)
  const zones = zonesOrOfBlock(dispenser.remainingArgs(), context.zones)
  const patterns: {source: string; regex?: Regex}[] = []
  const texts = {answer: [] as string[], additional: [] as string[], authority: [] as string[]}
  let rcode = 'NOERROR'
  let ederror = false
  let through: string[] = []
  while (dispenser.nextBlock()) {
    const option = dispenser.value
    switch (option) {
      case 'match':
        for (const source of someArguments(dispenser)) patterns.push(readPattern(source, dispenser, context))
        break
      case 'answer':
      case 'additional':
      case 'authority':
        for (const text of someArguments(dispenser)) texts[option].push(text)
        break
      case 'rcode':
        if (!dispenser.nextArg()) throw dispenser.argumentError()
        if (!rcodes.has(dispenser.value)) throw dispenser.error(`unknown rcode ${dispenser.value}`)
        rcode = dispenser.value === 'NOTIMPL' ? 'NOTIMP' : dispenser.value
        break
      case 'ederror': {
        if (!atLeast(context.version, '1.10.1')) throw dispenser.argumentError()
        const args = dispenser.remainingArgs()
        if (args.length !== 1 && args.length !== 2) throw dispenser.argumentError()
        const code = readUnsigned(args[0] ?? '', 16)
        if (!code.ok)
          throw dispenser.error(`error parsing extended DNS error code ${dispenser.value}, ${code.message}\n`)
        ederror = true
        break
      }
      case 'fallthrough':
        through = fallthroughZones(dispenser.remainingArgs())
        break
      case 'upstream':
        dispenser.remainingArgs()
        break
      default:
        throw dispenser.argumentError()
    }
  }
  return {
    class: klass,
    type,
    zones,
    patterns: patterns.length === 0 ? [readPattern('.*', dispenser, context)] : patterns,
    answers: texts.answer,
    additional: texts.additional,
    authority: texts.authority,
    rcode,
    ederror,
    fallthrough: through,
    line,
    file,
  }
}

function someArguments(dispenser: Dispenser): string[] {
  const args = dispenser.remainingArgs()
  if (args.length === 0) throw dispenser.argumentError()
  return args
}

function readPattern(source: string, dispenser: Dispenser, context: SetupContext): {source: string; regex?: Regex} {
  const length = new TextEncoder().encode(source).length
  if (atLeast(context.version, '1.14.0') && length > longestPattern) {
    throw dispenser.error(`regex pattern too long: ${length} > ${longestPattern}`)
  }
  const result = compileRegex(source)
  if (result.kind === 'invalid') throw dispenser.error(`could not parse regex: ${source}, ${result.message}`)
  if (result.kind === 'ok') return {source, regex: result.regex}
  context.unclear(`pattern ${source}: ${result.message}`, dispenser.token?.line ?? 0, dispenser.token?.file ?? '')
  return {source}
}

/** In: arguments of `fallthrough`. Out: the zones it is on for: all without arguments. */
export function fallthroughZones(args: readonly string[]): string[] {
  return args.length === 0 ? ['.'] : args.flatMap(zonesOfArgument)
}
