import {SrcipError} from '../../model/errors.ts'
import type {MirrorPlan, PlanItem} from '../../model/mirror.ts'
import {isDigest} from '../digest.ts'
import type {FoundImage, ValuePath} from '../images/shapes.ts'
import {parseReference, type Reference, repositoryName} from '../reference.ts'
import {targetRepository} from '../target.ts'
import type {Destination} from './copy.ts'

/** `keep`: the digest that the plan copies. `child`: the digest of one platform. `none`: tags only. */
export const pins = ['keep', 'child', 'none'] as const
export type Pin = (typeof pins)[number]

export interface RewriteOptions {
  readonly destination: Destination
  readonly pin: Pin
  readonly platform?: string | undefined
  /** Without a plan, digests that stand in the values are kept and tags stay tags. */
  readonly plan?: MirrorPlan | undefined
}

/** One value to set. */
export interface ValueChange {
  readonly path: ValuePath
  readonly value: string
  /** The reference as it was, for a comment. */
  readonly before: string
}

export interface Rewritten {
  readonly changes: readonly ValueChange[]
  readonly notes: readonly string[]
}

/** The item of a plan that a reference became. */
export function itemFor(plan: MirrorPlan, reference: Reference): PlanItem | undefined {
  const source = repositoryName(reference)
  const same = plan.items.filter((item) => item.source === source)
  const {digest, tag} = reference
  if (digest !== undefined) return same.find((item) => item.digest === digest || item.index === digest)
  return same.find((item) => item.tag === tag)
}

interface Pinned {
  readonly tag: string | undefined
  readonly digest: string | undefined
}

function pinOf(reference: Reference, where: string, options: RewriteOptions, notes: string[]): Pinned {
  const {plan, pin, platform} = options
  if (pin === 'none') return {tag: reference.tag, digest: undefined}
  const item = plan === undefined ? undefined : itemFor(plan, reference)
  if (plan !== undefined && item === undefined) {
    throw new SrcipError('Precondition', `${where}: ${repositoryName(reference)} is not in the plan`, {
      hints: ['plan these values first: kubectl srcip mirror plan -f FILE'],
    })
  }
  if (pin === 'child') {
    const wish = platform ?? ''
    const child = item?.platforms.find((one) => one.platform === wish || one.platform.startsWith(`${wish}/`))
    if (child !== undefined) {
      notes.push(`${where}: the digest becomes ${child.digest} (${child.platform}) instead of ${item?.digest}`)
      return {tag: reference.tag, digest: child.digest}
    }
    if (item?.index === undefined && (item?.platforms.length ?? 0) > 0)
      throw new SrcipError(
        'Precondition',
        `${where}: the plan has no ${wish === '' ? 'platform chosen (--platform)' : wish} of it`,
      )
  }
  if (item?.index !== undefined)
    notes.push(
      `${where}: the digest becomes ${item.digest} instead of ${item.index}, as the plan has one platform only`,
    )
  return {tag: reference.tag ?? item?.tag, digest: item?.digest ?? reference.digest}
}

/**
 * The values that make a chart use the mirror: only repositories change, digests are pinned, tags that hold a digest stay.
 * The chart itself is never touched.
 * @throws SrcipError when an image is not in the plan, or has no place at the target
 */
export function rewriteImages(images: readonly FoundImage[], options: RewriteOptions): Rewritten {
  const changes: ValueChange[] = []
  const notes: string[] = []
  for (const image of images) {
    const where = image.path.join('.')
    if (String(image.path[0]).includes('/')) {
      notes.push(
        `${where}: ${image.reference} is written in a template and no value changes it: use a mirror on the nodes (mirror node-config)`,
      )
      continue
    }
    const parsed = parseReference(image.reference)
    const {host} = options.destination.to
    // The mirror's own address means that this is our own output: nothing is left to do.
    if (parsed.host === host) continue
    const name = `${host}/${targetRepository(parsed, options.destination.to, options.destination.layout, false)}`
    changes.push(...changesFor(image, name, pinOf(parsed, where, options, notes)))
  }
  return {changes, notes: [...new Set(notes)]}
}

function changesFor(image: FoundImage, name: string, {tag, digest}: Pinned): ValueChange[] {
  const before = image.reference
  const set = (key: string | undefined, value: string | undefined): ValueChange[] =>
    key === undefined || value === undefined ? [] : [{path: [...image.path, key], value, before}]
  const whole = `${name}${tag === undefined ? '' : `:${tag}`}${digest === undefined ? '' : `@${digest}`}`
  if (image.shape === 'string') return [{path: image.path, value: whole, before}]
  if (image.shape === 'kustomize')
    return [...set('newName', name), ...(digest === undefined ? set('newTag', tag) : set('digest', digest))]
  const {keys} = image
  const slash = name.indexOf('/')
  const placed =
    keys?.registry === undefined
      ? set(keys?.repository, name)
      : [...set(keys.registry, name.slice(0, slash)), ...set(keys.repository, name.slice(slash + 1))]
  if (keys?.digest !== undefined)
    return [
      ...placed,
      ...set(keys.digest, digest === undefined ? '' : keys.digest === 'sha' ? digest.replace(/^sha256:/, '') : digest),
    ]
  const pinned = `${tag ?? 'latest'}${digest === undefined ? '' : `@${digest}`}`
  if (keys?.tag !== undefined) return [...placed, ...set(keys.tag, pinned)]
  // Repository and version in one value.
  return keys === undefined ? [] : [{path: [...image.path, keys.repository], value: whole, before}]
}

/** Writes changes as an overlay: only the changed keys, each image with a comment that names what it was. */
export async function overlayText(
  changes: readonly ValueChange[],
  prefix: ValuePath,
  pullSecret: string | undefined,
): Promise<string> {
  const {Document, isPair, isMap, isScalar} = await import('../yaml-library.ts')
  const document = new Document({})
  const commented = new Set<string>()
  for (const {path, value} of changes) document.setIn([...prefix, ...path], value)
  if (pullSecret !== undefined)
    document.setIn([...prefix, 'imagePullSecrets'], document.createNode([{name: pullSecret}]))
  for (const {path, before} of changes) {
    const parent = [...prefix, ...path].slice(0, -1)
    const node = parent.length === 0 ? document.contents : document.getIn(parent, true)
    if (commented.has(before + parent.join('\0')) || !isMap(node)) continue
    commented.add(before + parent.join('\0'))
    const pair = node.items.find((one) => isPair(one) && isScalar(one.key) && one.key.value === path.at(-1))
    if (pair !== undefined && isScalar(pair.key)) pair.key.commentBefore = ` was ${before}`
  }
  return document.toString({lineWidth: 0, defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN'})
}

/** Sets the changes in a user's own file; comments, order and everything else stay. */
export async function editValues(
  text: string,
  changes: readonly ValueChange[],
  prefix: ValuePath,
  from: string,
): Promise<string> {
  const {parseDocument, isScalar, Scalar} = await import('../yaml-library.ts')
  const document = parseDocument(text)
  const [error] = document.errors
  if (error !== undefined) throw new SrcipError('Usage', `${from}: ${error.message.split('\n')[0]}`, {object: from})
  for (const {path, value} of changes) {
    const node = document.getIn([...prefix, ...path], true)
    if (isScalar(node)) {
      node.value = value
      if (node.type === Scalar.PLAIN && needsQuotes(value)) node.type = Scalar.QUOTE_DOUBLE
    } else document.setIn([...prefix, ...path], value)
  }
  return document.toString({lineWidth: 0})
}

/** Text that YAML would read as something else, or that holds an `@` somewhere: safer quoted. */
function needsQuotes(value: string): boolean {
  return /^[\d.+-]/.test(value) || value.includes('@')
}

/** `addons.ouroboros.valuesOverride` as a path; a digest never is one. */
export function readPrefix(text: string | undefined): ValuePath {
  if (text === undefined || text === '') return []
  if (isDigest(text) || !/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/.test(text))
    throw new SrcipError('Usage', `--values-prefix expects keys joined by dots, not ${JSON.stringify(text)}`)
  return text.split('.')
}
