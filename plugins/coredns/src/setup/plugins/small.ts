import {atLeast} from '../../directives.ts'
import {compileRegex} from '../../simulate/re2/regex.ts'
import type {SetupContext} from '../context.ts'
import type {Dispenser} from '../dispenser.ts'
import {readAddress, readDuration, readInteger} from '../go-values.ts'
import {unknownOption} from './endpoints.ts'
import {onlyOnce} from './only-once.ts'

/** `errors [stdout] { consolidate DURATION REGEX [LEVEL]; stacktrace }`. */
export function checkErrors(dispenser: Dispenser, context: SetupContext): void {
  onlyOnce(dispenser, () => {
    const [file, more] = dispenser.remainingArgs()
    if (more !== undefined) throw dispenser.argumentError()
    if (file !== undefined && file !== 'stdout') throw dispenser.error(`invalid log file: ${file}`)
    while (dispenser.nextBlock()) {
      if (dispenser.value === 'stacktrace' && atLeast(context.version, '1.9.3')) continue
      if (dispenser.value !== 'consolidate') throw dispenser.syntaxError(`Unknown field ${dispenser.value}`)
      checkConsolidate(dispenser, context)
    }
  })
}

function checkConsolidate(dispenser: Dispenser, context: SetupContext): void {
  const args = dispenser.remainingArgs()
  const [duration = '', source = '', ...rest] = args
  if (args.length < 2 || args.length > (atLeast(context.version, '1.14.0') ? 4 : 3)) throw dispenser.argumentError()
  const seconds = readDuration(duration)
  if (!seconds.ok) throw dispenser.error(seconds.message)
  const pattern = compileRegex(source)
  if (pattern.kind === 'invalid') throw dispenser.error(pattern.message)
  if (pattern.kind === 'unknown') {
    context.unclear(`pattern ${source}: ${pattern.message}`, dispenser.token?.line ?? 0, dispenser.token?.file ?? '')
  }
  for (const option of rest) {
    if (['warning', 'error', 'info', 'debug'].includes(option)) continue
    if (option === 'show_first' && atLeast(context.version, '1.14.0')) continue
    throw dispenser.error(
      atLeast(context.version, '1.14.0')
        ? `unknown option in consolidate: ${option}`
        : `unknown log level argument in consolidate: ${option}`,
    )
  }
}

/** `log [NAMES…] [FORMAT] { class … }`. */
export function checkLog(dispenser: Dispenser, context: SetupContext): void {
  while (dispenser.next()) {
    dispenser.remainingArgs()
    while (dispenser.nextBlock()) {
      if (dispenser.value !== 'class') throw unknownOption(dispenser, context)
      const classes = dispenser.remainingArgs()
      if (classes.length === 0) throw dispenser.argumentError()
      for (const name of classes) {
        if (!['all', 'denial', 'error', 'success'].includes(name)) throw dispenser.plain(`invalid Class: ${name}`)
      }
    }
  }
}

/** `loop`: no argument. */
export function checkLoop(dispenser: Dispenser): void {
  onlyOnce(dispenser, () => {
    if (dispenser.nextArg()) throw dispenser.argumentError()
  })
}

/** `any`: no argument, since 1.14.4. */
export function checkAny(dispenser: Dispenser, context: SetupContext): void {
  if (atLeast(context.version, '1.14.4')) checkBare(dispenser)
}

/** whoami, minimal: the first line may have no argument, later ones are not looked at. */
export function checkBare(dispenser: Dispenser): void {
  dispenser.next()
  if (dispenser.nextArg()) throw dispenser.argumentError()
}

/** `debug`: no argument. */
export function checkDebug(dispenser: Dispenser): void {
  while (dispenser.next()) if (dispenser.nextArg()) throw dispenser.argumentError()
}

/** `root PATH`. */
export function checkRoot(dispenser: Dispenser): void {
  while (dispenser.next()) if (!dispenser.nextArg()) throw dispenser.argumentError()
}

/** `bufsize [512…4096]`. */
export function checkBufsize(dispenser: Dispenser): void {
  dispenser.next()
  const [text, more] = dispenser.remainingArgs()
  if (text === undefined) return
  const size = readInteger(text)
  if (more !== undefined || !size.ok || size.value < 512 || size.value > 4096) {
    throw dispenser.plain(`plugin/bufsize: ${dispenser.argumentError().message}`)
  }
}

/** `nsid [DATA]`. */
export function checkNsid(dispenser: Dispenser): void {
  onlyOnce(dispenser, () => {
    dispenser.remainingArgs()
  })
}

/** `loadbalance [round_robin | weighted FILE] { prefer CIDR… }`. */
export function checkLoadbalance(dispenser: Dispenser, context: SetupContext): void {
  while (dispenser.next()) {
    const [policy, file, more] = dispenser.remainingArgs()
    if (policy === 'round_robin') {
      if (file !== undefined) throw dispenser.error('unknown property for round_robin')
    } else if (policy === 'weighted' && atLeast(context.version, '1.10.1')) {
      if (file === undefined) throw dispenser.error('missing weight file argument')
      if (more !== undefined) throw dispenser.error('unexpected argument(s)')
    } else if (policy !== undefined) throw dispenser.plain(`unknown policy: ${policy}`)
    while (dispenser.nextBlock()) {
      const option = dispenser.value
      const known = policy === 'weighted' ? ['reload'] : atLeast(context.version, '1.12.4') ? ['prefer'] : []
      if (!known.includes(option)) throw dispenser.error(`unknown property '${option}'`)
      dispenser.remainingArgs()
    }
  }
}

/** `bind ADDRESS|INTERFACE…`. Interface names of the Pod are not known here, so a word may be one; pillars are left alone. */
export function checkBind(dispenser: Dispenser, context: SetupContext): void {
  while (dispenser.next()) {
    const args = dispenser.remainingArgs()
    if (args.length === 0) {
      throw dispenser.plain(
        atLeast(context.version, '1.8.4')
          ? 'at least one address or interface name is expected'
          : 'at least one address is expected',
      )
    }
    judgeBindWords(args, dispenser, context)
    if (!atLeast(context.version, '1.8.4')) continue
    while (dispenser.nextBlock()) {
      if (dispenser.value !== 'except') throw dispenser.plain(`invalid option ${JSON.stringify(dispenser.value)}`)
      const except = dispenser.remainingArgs()
      if (except.length === 0) {
        throw dispenser.plain('at least one address or interface must be given to except subdirective')
      }
      judgeBindWords(except, dispenser, context)
    }
  }
}

function judgeBindWords(words: readonly string[], dispenser: Dispenser, context: SetupContext): void {
  for (const word of words) {
    if (readAddress(word) !== undefined || word.startsWith('__PILLAR__')) continue
    // Linux: at most 15 characters, no slash, no blank.
    const mayBeInterface = word.length <= 15 && !/[/\s]/.test(word) && !/^[\d.:]+$/.test(word)
    if (!mayBeInterface) throw dispenser.plain(`not a valid IP address or interface name: ${JSON.stringify(word)}`)
    context.unclear(`bind ${word}: an interface of the Pod`, dispenser.token?.line ?? 0, dispenser.token?.file ?? '')
  }
}

/** `local { localhost_prefix on|off }`. */
export function checkLocal(dispenser: Dispenser): void {
  while (dispenser.next()) {
    if (dispenser.remainingArgs().length > 0) throw dispenser.argumentError()
    while (dispenser.nextBlock()) {
      if (dispenser.value !== 'localhost_prefix') throw dispenser.error(`unknown property '${dispenser.value}'`)
      if (dispenser.remainingArgs().length !== 1) throw dispenser.argumentError()
    }
  }
}

/** `erratic { drop [N]; delay [N [DURATION]]; truncate [N]; large }`. */
export function checkErratic(dispenser: Dispenser): void {
  while (dispenser.next()) {
    while (dispenser.nextBlock()) {
      const option = dispenser.value
      if (option === 'large') continue
      if (option !== 'drop' && option !== 'delay' && option !== 'truncate') {
        throw dispenser.error(`unknown property '${option}'`)
      }
      const args = dispenser.remainingArgs()
      if (args.length > (option === 'delay' ? 2 : 1)) throw dispenser.argumentError()
      const [amount, duration] = args
      if (amount !== undefined) {
        if (!/^[+-]?\d+$/.test(amount)) {
          throw dispenser.plain(`strconv.ParseInt: parsing ${JSON.stringify(amount)}: invalid syntax`)
        }
        if (Number(amount) < 0) throw dispenser.plain(`illegal amount value given ${JSON.stringify(amount)}`)
      }
      if (duration !== undefined) {
        const seconds = readDuration(duration)
        if (!seconds.ok) throw dispenser.plain(seconds.message)
      }
    }
  }
}
