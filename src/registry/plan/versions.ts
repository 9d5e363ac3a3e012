interface Version {
  readonly numbers: readonly [number, number, number]
  readonly prerelease: readonly string[]
}

/** Semantic Versioning 2.0.0, with the `v` that many tags carry; `_` stands for `+` in tags of charts. */
export function readVersion(tag: string): Version | undefined {
  const match = /^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:[+_][0-9A-Za-z.-]+)?$/.exec(tag)
  if (match === null) return undefined
  return {numbers: [Number(match[1]), Number(match[2]), Number(match[3])], prerelease: match[4]?.split('.') ?? []}
}

/** Negative when `one` is older: numbers first, then a prerelease is older than its release (SemVer 11). */
export function compareVersions(one: Version, other: Version): number {
  for (const at of [0, 1, 2] as const) {
    const difference = one.numbers[at] - other.numbers[at]
    if (difference !== 0) return difference
  }
  if (one.prerelease.length === 0 || other.prerelease.length === 0)
    return other.prerelease.length - one.prerelease.length
  for (let at = 0; at < Math.max(one.prerelease.length, other.prerelease.length); at++) {
    const [left, right] = [one.prerelease[at], other.prerelease[at]]
    if (left === undefined || right === undefined) return left === undefined ? -1 : 1
    const numeric = [/^\d+$/.test(left), /^\d+$/.test(right)]
    if (numeric[0] && numeric[1] && Number(left) !== Number(right)) return Number(left) - Number(right)
    if (numeric[0] !== numeric[1]) return numeric[0] ? -1 : 1
    if (left !== right && !(numeric[0] && numeric[1])) return left < right ? -1 : 1
  }
  return 0
}

/** The newest tag that is a stable version; a prerelease only where there is nothing else. */
export function newestVersion(tags: readonly string[]): string | undefined {
  const versions = tags.flatMap((tag) => {
    const version = readVersion(tag)
    return version === undefined ? [] : [{tag, version}]
  })
  const stable = versions.filter(({version}) => version.prerelease.length === 0)
  const sorted = (stable.length > 0 ? stable : versions).sort((one, other) =>
    compareVersions(one.version, other.version),
  )
  return sorted.at(-1)?.tag
}
