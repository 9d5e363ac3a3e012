import {SrcipError} from '../../model/errors.ts'
import {isNotFound, RegistryError} from '../errors.ts'
import type {Manifest} from '../manifest.ts'
import {cleanText} from '../text.ts'
import type {CopyItem} from './item.ts'

/** Whatever ended an item, as an error that a person can act on. Bugs pass through. */
export function asSrcipError(thrown: unknown, item: CopyItem): SrcipError {
  const {registry} = item.source
  const atSource = registry !== undefined && registry.state !== item.target.state
  if (isNotFound(thrown) && atSource && thrown.host === registry.state.host)
    return new SrcipError('Precondition', `${item.name}: not found at the source: ${thrown.message}`, {
      object: item.name,
      cause: thrown,
    })
  if (thrown instanceof SrcipError) return thrown
  if (thrown instanceof Error && thrown.name === 'NetworkFault') {
    return new SrcipError('Unreachable', `${item.name}: ${thrown.message}`, {
      object: item.name,
      cause: thrown,
      hints: ['run the same command again: it goes on where it stopped'],
    })
  }
  throw thrown
}

/** Says what a target refused, and that nothing was tagged. */
export function explainPut(error: unknown, manifest: Manifest, {target, name}: CopyItem, holes: boolean): unknown {
  if (!(error instanceof RegistryError)) return error
  const answer = `${error.status}${error.detail === '' ? '' : ` ${error.detail}`}`
  const make = (text: string, hints: readonly string[] = []): RegistryError =>
    new RegistryError(error.status, error.codes, error.detail, `${name}: ${text}; nothing was tagged`, error.code, [
      ...hints,
      ...error.hints,
    ])
  if (
    manifest.kind === 'index' &&
    holes &&
    (error.codes.includes('MANIFEST_BLOB_UNKNOWN') || error.status === 404 || error.status === 400)
  ) {
    return make(`${target.fullName} does not take the sparse index ${manifest.digest}: it answered ${answer}`, [
      'copy one platform with --platform OS/ARCH, or the whole index',
    ])
  }
  if (error.status === 415 || error.status === 400 || error.status === 404) {
    return make(
      `${target.fullName} refuses ${manifest.digest} (${cleanText(manifest.mediaType)}): it answered ${answer}`,
    )
  }
  return error
}
