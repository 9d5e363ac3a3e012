import type {Environment} from './types.ts'

/** A value that refers to itself: CoreDNS replaces for ever. */
export class EndlessExpansion extends Error {}

/** Replacements after which an expansion is taken for endless, and the longest text that is built. */
const replacementLimit = 10_000
const lengthLimit = 1 << 20

const nothing: ReadonlyMap<string, string> = new Map()

/** All variables unset, as in a container without any. */
export const emptyEnvironment: Environment = {known: nothing, others: 'unset'}

/**
 * Replaces environment references like CoreDNS: first every `{%NAME%}`, then every `{$NAME}`, the search starting
 * again from the left after each replacement, unset as empty text, no default values, an empty name ends the search.
 *
 * @param text one token
 * @param environment what is known of the process environment
 * @param unknown called with each name whose value cannot be seen; its reference stays in the text
 * @throws EndlessExpansion where CoreDNS would never return
 */
export function expandEnvironment(text: string, environment: Environment, unknown: (name: string) => void): string {
  if (!text.includes('{')) return text
  const afterPercent = replaceReferences(text, '{%', '%}', environment, unknown)
  return replaceReferences(afterPercent, '{$', '}', environment, unknown)
}

function replaceReferences(
  text: string,
  open: string,
  close: string,
  environment: Environment,
  unknown: (name: string) => void,
): string {
  let result = text
  let index = result.indexOf(open)
  for (let count = 0; index !== -1; count++) {
    const end = result.indexOf(close, index)
    if (end === -1 || end <= index + open.length) return result
    const reference = result.slice(index, end + close.length)
    const name = reference.slice(open.length, -close.length)
    const value = environment.known.get(name) ?? (environment.others === 'unset' ? '' : undefined)
    if (value === undefined) {
      unknown(name)
      index = result.indexOf(open, end + close.length)
      continue
    }
    result = result.split(reference).join(value)
    if (count > replacementLimit || result.length > lengthLimit) {
      throw new EndlessExpansion(`environment reference ${reference} expands for ever`)
    }
    index = result.indexOf(open)
  }
  return result
}

/** Names of the environment variables a text refers to, as far as they can be read without their values. */
export function environmentNames(text: string): string[] {
  const names: string[] = []
  expandEnvironment(text, {known: nothing, others: 'unknown'}, (name) => names.push(name))
  return names
}
