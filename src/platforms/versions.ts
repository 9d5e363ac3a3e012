import type {Since} from './cnis/row.ts'

/** `v1.18.1-rc.0`, `1.18` or an image tag as numbers; undefined for tags that are no version (`latest`, a digest). */
export function readVersion(text: string | undefined): readonly [number, number, number] | undefined {
  const match = /^v?(\d+)\.(\d+)(?:\.(\d+))?(?![.\d])/.exec(text ?? '')
  if (match === null) return undefined
  return [Number(match[1]), Number(match[2]), Number(match[3] ?? 0)]
}

/** Negative, zero or positive as `left` is older, the same, newer; undefined where one of them is no version. */
export function compareVersions(left: string | undefined, right: string | undefined): number | undefined {
  const [a, b] = [readVersion(left), readVersion(right)]
  if (a === undefined || b === undefined) return undefined
  return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]
}

/** Does something that holds `since` hold in this version? undefined: the version is not known, and it matters. */
export function holdsIn(since: Exclude<Since, 'setting'>, version: string | undefined): boolean | undefined {
  if (since === 'always') return true
  if (since === 'never') return false
  const order = compareVersions(version, since.from)
  if (order === undefined) return undefined
  return order >= 0 && !(since.except ?? []).some((one) => compareVersions(version, one) === 0)
}

/** The tag of an image reference, without a digest behind it; undefined if it has none. */
export function imageTag(image: string): string | undefined {
  const name = image.split('@')[0]?.split('/').at(-1) ?? ''
  const colon = name.indexOf(':')
  return colon < 0 ? undefined : name.slice(colon + 1)
}

/** Does an image name contain one of these parts, each on a path boundary (`/kong` is no `/kong-gateway`)? */
export function isImageOf(image: string, parts: readonly string[]): boolean {
  const path = `/${image.split('@')[0] ?? ''}`
  const last = path.lastIndexOf(':')
  const name = last > path.lastIndexOf('/') ? path.slice(0, last) : path
  return parts.some((part) => (part.endsWith('/') ? name.includes(part) : name.endsWith(part)))
}
