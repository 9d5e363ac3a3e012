import {atLeast} from '../../directives.ts'
import type {SetupContext} from '../context.ts'
import type {Dispenser} from '../dispenser.ts'
import {readDuration, readHostPort} from '../go-values.ts'
import {onlyOnce} from './only-once.ts'

/** In: the one optional address argument of health, ready, prometheus. Throws when it has no port or there are more. */
function readListenAddress(dispenser: Dispenser): void {
  const args = dispenser.remainingArgs()
  if (args.length > 1) throw dispenser.argumentError()
  const [address] = args
  if (address === undefined) return
  const split = readHostPort(address)
  if (!split.ok) throw dispenser.plain(split.message)
}

/** `health [ADDRESS] { lameduck DURATION }`. Twice is accepted: the last counts. */
export function checkHealth(dispenser: Dispenser, context: SetupContext): void {
  while (dispenser.next()) {
    readListenAddress(dispenser)
    while (dispenser.nextBlock()) {
      if (dispenser.value !== 'lameduck') throw unknownOption(dispenser, context)
      const args = dispenser.remainingArgs()
      const [text = ''] = args
      if (args.length !== 1) throw dispenser.argumentError()
      const seconds = readDuration(text)
      if (!seconds.ok) throw dispenser.plain(`unable to parse lameduck duration value: '${text}' : ${seconds.message}`)
    }
  }
}

/** Before 1.14.4 several plugins told an unknown option as a wrong argument count. */
export function unknownOption(dispenser: Dispenser, context: SetupContext): Error {
  return atLeast(context.version, '1.14.4')
    ? dispenser.error(`unknown property '${dispenser.value}'`)
    : dispenser.argumentError()
}

/** `ready [ADDRESS] { monitor until-ready|continuously }`. */
export function checkReady(dispenser: Dispenser, context: SetupContext): void {
  onlyOnce(dispenser, () => {
    readListenAddress(dispenser)
    if (!atLeast(context.version, '1.12.2')) return
    while (dispenser.nextBlock()) {
      if (dispenser.value !== 'monitor') throw dispenser.error(`unknown property '${dispenser.value}'`)
      const [mode, more] = dispenser.remainingArgs()
      if (mode === undefined || more !== undefined) throw dispenser.argumentError()
      if (mode !== 'until-ready' && mode !== 'continuously')
        throw dispenser.error(`monitor type '${mode}' not supported`)
    }
  })
}

/** `prometheus [ADDRESS] { tls FILE; runtime_metrics }`. */
export function checkPrometheus(dispenser: Dispenser, context: SetupContext): void {
  let tls = false
  onlyOnce(dispenser, () => {
    readListenAddress(dispenser)
    if (!atLeast(context.version, '1.14.3')) return
    while (dispenser.nextBlock()) {
      if (dispenser.value === 'runtime_metrics') {
        if (dispenser.remainingArgs().length > 0) throw dispenser.argumentError()
      } else if (dispenser.value === 'tls') {
        if (tls) throw dispenser.error('tls block already specified')
        tls = true
        if (dispenser.remainingArgs().length !== 1) throw dispenser.argumentError()
      } else throw dispenser.error(`unknown option: ${dispenser.value}`)
    }
  })
}

/** `pprof [ADDRESS]`, its block is not judged. */
export function checkPprof(dispenser: Dispenser): void {
  onlyOnce(dispenser, () => {
    readListenAddress(dispenser)
    while (dispenser.nextBlock()) dispenser.remainingArgs()
  })
}

/** `reload [INTERVAL [JITTER]]`: 2 s and 1 s at least, no jitter since 1.14.2. Only the first line counts. */
export function checkReload(dispenser: Dispenser, context: SetupContext): void {
  dispenser.next()
  const args = dispenser.remainingArgs()
  if (args.length > 2) throw dispenser.argumentError()
  const [interval, jitter] = args.map((text) => {
    const seconds = readDuration(text)
    if (!seconds.ok) throw dispenser.plain(seconds.message)
    return seconds.value
  })
  if (interval !== undefined && interval < 2) throw dispenser.plain('interval value must be greater or equal to 2s')
  if (jitter === undefined || jitter >= 1) return
  if (!atLeast(context.version, '1.14.2')) throw dispenser.plain('jitter value must be greater or equal to 1s')
  if (jitter !== 0) throw dispenser.plain('jitter value must be 0 or greater or equal to 1s')
}
