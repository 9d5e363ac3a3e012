import {SrcipError} from '../../model/errors.ts'

/** The usage error for a file that cannot be read. */
export function unreadable(place: string, problem: string, hints: readonly string[]): SrcipError {
  return new SrcipError('Usage', `${place} ${problem}`, {object: place, hints})
}
