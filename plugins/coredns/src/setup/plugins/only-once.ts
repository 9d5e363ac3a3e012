import type {Dispenser} from '../dispenser.ts'

/** CoreDNS' words for a plugin that stands twice in a block. */
export const onceMessage = 'this plugin can only be used once per Server Block'

/** Walks the stanzas of a plugin that may stand once: the second is an error. In: the reader of one stanza. */
export function onlyOnce(dispenser: Dispenser, stanza: () => void): void {
  let seen = false
  while (dispenser.next()) {
    if (seen) throw dispenser.plain(onceMessage)
    seen = true
    stanza()
  }
}
