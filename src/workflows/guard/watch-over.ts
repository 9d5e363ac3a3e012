import type {FieldChange, PlanObject} from '../../model/plan.ts'
import {sameValue} from '../engine/canonical.ts'
import {readField} from '../engine/fields.ts'

/** What a guard is told: the fields of a flip, and how long it may go unconfirmed. */
export interface GuardOrder {
  readonly object: PlanObject
  readonly fields: readonly FieldChange[]
  readonly windowSeconds: number
}

/**
 * How a guard stands, in `data.state` of its ConfigMap. The run writes `confirmed`, the guard everything else; both do it with the version they
 * have read as precondition, so that exactly one of confirmation and return wins.
 */
export type GuardState = 'watching' | 'confirmed' | 'returning' | 'returned'

export interface GuardPorts {
  /** The object of the flip as it is; undefined: it is not there. */
  readObject(signal: AbortSignal): Promise<unknown>
  readState(signal: AbortSignal): Promise<{readonly state: GuardState | undefined; readonly version: string}>
  /** False when the version has moved on: somebody else has written. */
  writeState(state: GuardState, version: string, signal: AbortSignal): Promise<boolean>
  /** Writes the previous values of the fields that still have the values of the flip. */
  putBack(signal: AbortSignal): Promise<void>
  now(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  say(message: string): void
}

const paceMs = 500

/**
 * Commit or return (design.md 6): waits for the flip, then for its confirmation; when the window passes without one it puts the saved
 * values back. An API server that does not answer is asked again: a guard that gives up guards nothing. Resolves with the last state.
 */
export async function watchOver(ports: GuardPorts, order: GuardOrder, signal: AbortSignal): Promise<GuardState> {
  let flippedAt: number | undefined
  let said = ''
  const say = (message: string): void => {
    if (message !== said) ports.say(message)
    said = message
  }
  for (;;) {
    signal.throwIfAborted()
    try {
      const {state, version} = await ports.readState(signal)
      if (state === 'confirmed' || state === 'returned') return state
      if (state === 'returning') {
        await ports.putBack(signal)
        await ports.writeState('returned', version, signal)
        say('the previous values are back')
        continue
      }
      if (state === undefined) await ports.writeState('watching', version, signal)
      const object = await ports.readObject(signal)
      const flipped = order.fields.every(({path, after}) => sameValue(readField(object, path), after))
      if (!flipped) flippedAt = undefined
      else flippedAt ??= ports.now()
      if (flippedAt === undefined) say('watching: nothing is switched yet')
      else if (ports.now() - flippedAt < order.windowSeconds * 1000)
        say(`switched: to be confirmed within ${order.windowSeconds} s`)
      else if (await ports.writeState('returning', version, signal)) {
        say(`not confirmed within ${order.windowSeconds} s: putting the previous values back`)
        continue
      }
    } catch (error) {
      signal.throwIfAborted()
      say(`the API server gives no answer: ${error instanceof Error ? error.message : String(error)}`)
    }
    await ports.sleep(paceMs, signal)
  }
}
