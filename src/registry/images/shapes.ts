import {isDigest} from '../digest.ts'
import {isTag, repositoryProblem} from '../reference.ts'
import {cleanText} from '../text.ts'

/** Where in a document something stands. */
export type ValuePath = readonly (string | number)[]

/** Values with every scalar as the text that was written: `1.36` stays `1.36`. */
export type TextValue = string | readonly TextValue[] | {readonly [key: string]: TextValue}

/**
 * An image in values or a manifest, and which keys make it up.
 * `string`: one key holds the whole reference. `parts`: repository (with registry, tag, digest beside it). `kustomize`: an entry of `images:`.
 */
export interface FoundImage {
  readonly shape: 'string' | 'parts' | 'kustomize'
  /** Path of the string, or of the object that holds the parts. */
  readonly path: ValuePath
  /** As it would be pulled, tag and digest included where known. */
  readonly reference: string
  /** `parts`: the keys in use. */
  readonly keys?: {
    readonly repository: string
    readonly registry?: string
    readonly tag?: string
    readonly digest?: string
  }
  /** The tag came from the chart's appVersion. */
  readonly assumedTag?: string
}

/** A text that looks like an image and is not rewritten: an argument, an environment variable, a ConfigMap. */
export interface SuspectedImage {
  readonly path: ValuePath
  readonly reference: string
}

export interface ImageSearch {
  readonly images: readonly FoundImage[]
  readonly suspected: readonly SuspectedImage[]
}

export interface SearchOptions {
  /** Tag of a chart's images that name none. */
  readonly appVersion?: string
  /** Registry that charts put before repositories without a host. */
  readonly globalRegistry?: string
}

const hostLike =
  /^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\.[a-z]{2,}|localhost|[a-z0-9.-]+:\d{1,5}|\[[0-9a-f:.]+\](?::\d+)?)\//i
const repositoryKeys = ['repository', 'image', 'name', 'repo'] as const

function isMap(value: TextValue | undefined): value is {readonly [key: string]: TextValue} {
  return typeof value === 'object' && !Array.isArray(value)
}

function textOf(value: TextValue | undefined): string | undefined {
  return typeof value === 'string' && value !== '' && value !== 'null' && value !== '~' ? value : undefined
}

/** Splits a name from tag and digest without judging the name. */
export function splitReference(text: string): {name: string; tag?: string; digest?: string} {
  const at = text.indexOf('@')
  const digest = at < 0 ? undefined : text.slice(at + 1)
  const plain = at < 0 ? text : text.slice(0, at)
  const colon = plain.lastIndexOf(':')
  const tagged = colon > plain.lastIndexOf('/') && colon > 0
  return {
    name: tagged ? plain.slice(0, colon) : plain,
    ...(tagged ? {tag: plain.slice(colon + 1)} : {}),
    ...(digest === undefined ? {} : {digest}),
  }
}

function isName(text: string): boolean {
  if (text.includes('://') || /[\s{}$]/.test(text)) return false
  const slash = text.indexOf('/')
  const first = slash < 0 ? '' : text.slice(0, slash)
  const path = hostLike.test(text) || first === 'localhost' ? text.slice(slash + 1) : text
  return repositoryProblem(path.toLowerCase()) === undefined && /[a-z]/i.test(path)
}

/** Does a text name an image on its own: a name with a tag or a digest? */
export function looksLikeImage(text: string, needHost: boolean): boolean {
  if (text.length > 400) return false
  const {name, tag, digest} = splitReference(text.startsWith('docker://') ? text.slice(9) : text)
  if (!isName(name) || (tag === undefined && digest === undefined)) return false
  if (tag !== undefined && !isTag(tag)) return false
  if (digest !== undefined && !isDigest(digest)) return false
  return hostLike.test(name) || digest !== undefined || !needHost
}

/** `repo`, `tag@digest` and `digest` joined as Kubernetes pulls them. */
function compose(name: string, tag: string | undefined, digest: string | undefined): string {
  if (tag?.includes('@') === true) return `${name}:${tag}`
  return `${name}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`
}

function normalizeDigest(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  if (isDigest(text)) return text
  return /^[0-9a-f]{64}$/.test(text) ? `sha256:${text}` : undefined
}

function kustomizeEntry(value: {readonly [key: string]: TextValue}, path: ValuePath): FoundImage | undefined {
  if (path.at(-2) !== 'images' || textOf(value['name']) === undefined) return undefined
  const name = textOf(value['newName']) ?? textOf(value['name']) ?? ''
  const tag = textOf(value['newTag'])
  const digest = normalizeDigest(textOf(value['digest']))
  if (!isName(name) || (tag === undefined && digest === undefined)) return undefined
  return {shape: 'kustomize', path, reference: compose(name, digest === undefined ? tag : undefined, digest)}
}

function partsOf(
  value: {readonly [key: string]: TextValue},
  path: ValuePath,
  options: SearchOptions,
): FoundImage | undefined {
  const aboutImages = /image/i.test(String(path.at(-1) ?? ''))
  const tag = textOf(value['tag'])
  const digestKey = ['digest', 'sha'].find((key) => value[key] !== undefined)
  const digest = normalizeDigest(digestKey === undefined ? undefined : textOf(value[digestKey]))
  const hasParts =
    value['tag'] !== undefined ||
    digestKey !== undefined ||
    value['pullPolicy'] !== undefined ||
    value['registry'] !== undefined
  for (const key of repositoryKeys) {
    const text = textOf(value[key])
    if (text === undefined || !isName(text)) continue
    if (
      key === 'repository'
        ? !hasParts && !aboutImages
        : !(value['tag'] !== undefined || digestKey !== undefined) || (key === 'name' && !aboutImages)
    )
      continue
    const {name, tag: innerTag, digest: innerDigest} = splitReference(text)
    const registry = textOf(value['registry']) ?? (value['registry'] === undefined ? undefined : options.globalRegistry)
    const full = registry === undefined || hostLike.test(name) ? name : `${registry.replace(/\/+$/, '')}/${name}`
    const assumed =
      tag === undefined && innerTag === undefined && digest === undefined && innerDigest === undefined
        ? options.appVersion
        : undefined
    return {
      shape: 'parts',
      path,
      reference: compose(full, tag ?? innerTag ?? assumed, digest ?? innerDigest),
      keys: {
        repository: key,
        ...(value['registry'] === undefined ? {} : {registry: 'registry'}),
        ...(value['tag'] === undefined ? {} : {tag: 'tag'}),
        ...(digestKey === undefined ? {} : {digest: digestKey}),
      },
      ...(assumed === undefined ? {} : {assumedTag: assumed}),
    }
  }
  return undefined
}

/** A container's `image`, or a value whose key says that it is one. */
function isImageKey(key: string | number | undefined): boolean {
  return (
    typeof key === 'string' &&
    (key === 'image' || /(?:^i|I)mage(?:Name|Ref|Reference)?$/.test(key) || key === 'containerImage')
  )
}

/**
 * Finds every image in values or manifests: the shapes of mirror.md 9.2, each with its path; and texts elsewhere that look
 * like images, so that nothing is missed silently.
 */
export function findImages(root: TextValue, options: SearchOptions = {}): ImageSearch {
  const images: FoundImage[] = []
  const suspected: SuspectedImage[] = []
  const visit = (value: TextValue, path: ValuePath, depth: number): void => {
    if (depth > 100) return
    if (typeof value === 'string') {
      if (isImageKey(path.at(-1)) && looksLikeImage(value, false))
        images.push({shape: 'string', path, reference: value})
      else for (const reference of imagesInText(value)) suspected.push({path, reference})
      return
    }
    if (!isMap(value)) {
      value.forEach((entry, at) => visit(entry, [...path, at], depth + 1))
      return
    }
    const found = kustomizeEntry(value, path) ?? partsOf(value, path, options)
    if (found !== undefined) images.push(found)
    const own = new Set<string>(
      found === undefined
        ? []
        : found.shape === 'kustomize'
          ? ['name', 'newName', 'newTag', 'digest']
          : Object.values(found.keys ?? {}),
    )
    for (const [key, entry] of Object.entries(value)) if (!own.has(key)) visit(entry, [...path, key], depth + 1)
  }
  visit(root, [], 0)
  return {images, suspected}
}

/** References inside a longer text: arguments such as `--helper-image=host/path:tag`, lists in ConfigMaps. */
export function imagesInText(text: string): string[] {
  if (text.length > 100_000) return []
  const found = new Set<string>()
  for (const word of text.split(/[\s"'`,;=|<>()]+/)) {
    if (word.includes('/') && looksLikeImage(word, true)) found.add(word)
  }
  return [...found]
}

/** `image.repository`, `containers[0].image`: for people. */
export function formatPath(path: ValuePath): string {
  return path
    .map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at === 0 ? '' : '.'}${cleanText(key, 80)}`))
    .join('')
}
