import {parseIP} from '../model/address.ts'

/** Every word that reaches a configuration goes through here: nothing from a cluster or a flag may begin a line of its own. */

/** An address as configurations write it, IPv6 in brackets. */
export function host(address: string): string {
  if (parseIP(address) === undefined) throw new Error(`${JSON.stringify(address)} is not an address`)
  return address.includes(':') ? `[${address}]` : address
}

export function portNumber(port: number): number {
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`${port} is not a port`)
  return port
}

/** Names that every one of the three programs takes as one word; a name that is none, or that was there, gives way to its number. */
export function uniqueNames(names: readonly string[]): string[] {
  const seen = new Set<string>()
  return names.map((name, index) => {
    const fits = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/.test(name) && !/^backend-\d+$/.test(name)
    const word = fits && !seen.has(name) ? name : `backend-${index}`
    seen.add(word)
    return word
  })
}

/** Whole seconds, at least one. */
export function seconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000))
}
