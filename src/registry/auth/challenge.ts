/** One challenge of a WWW-Authenticate header (RFC 9110, 11.6.1). Scheme in lower case, parameter names in lower case. */
export interface Challenge {
  readonly scheme: string
  readonly parameters: Readonly<Record<string, string>>
}

/**
 * Reads every challenge of a header that may hold several; quoted strings keep commas and escapes.
 * What cannot be read is left out: a broken challenge is none.
 */
export function readChallenges(header: string | undefined): Challenge[] {
  if (header === undefined || header.length > 16_384) return []
  const challenges: {scheme: string; parameters: Record<string, string>}[] = []
  // A scheme is a token followed by a space and either a parameter or nothing; a parameter is token "=" value.
  const pattern = /\s*,?\s*([A-Za-z0-9!#$%&'*+.^_`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/gy
  let match: RegExpExecArray | null
  while ((match = pattern.exec(header)) !== null) {
    const [, name = '', quoted, plain] = match
    if (quoted === undefined && plain === undefined) challenges.push({scheme: name.toLowerCase(), parameters: {}})
    else {
      const current = challenges.at(-1)
      if (current !== undefined)
        current.parameters[name.toLowerCase()] = quoted === undefined ? (plain ?? '') : quoted.replace(/\\(.)/g, '$1')
    }
  }
  return challenges
}

/** Scopes may come several in one text, separated by spaces (registry 2.8 does so for mounts). */
export function splitScopes(scope: string | undefined): string[] {
  return (scope ?? '').split(/\s+/).filter((entry) => entry !== '')
}

/** Joins scopes of the same repository: `repository:a:pull` and `repository:a:push` become `repository:a:pull,push`. Sorted. */
export function joinScopes(scopes: Iterable<string>): string[] {
  const actions = new Map<string, Set<string>>()
  for (const scope of scopes) {
    const colon = scope.lastIndexOf(':')
    if (colon < 0) continue
    const resource = scope.slice(0, colon)
    const set = actions.get(resource) ?? new Set<string>()
    for (const action of scope.slice(colon + 1).split(',')) set.add(action)
    actions.set(resource, set)
  }
  return [...actions].map(([resource, set]) => `${resource}:${[...set].sort().join(',')}`).sort()
}
