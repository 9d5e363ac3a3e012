import type {Grade} from '../model/doctor.ts'

/**
 * One statement about somebody else's software, with where it is written and how well it is founded: `source` was read in
 * its source or its documentation, `inferred` follows from that, `unconfirmed` may be true and was not found anywhere.
 */
export interface Cell<T> {
  readonly value: T
  readonly grade: Grade
  readonly source: string
  /** What would settle an unconfirmed statement: a command, or where to look. */
  readonly check?: string
}

/** A statement that was read at its source. */
export function said<const T>(value: T, source: string): Cell<T> {
  return {value, grade: 'source', source}
}

/** A statement that follows from what stands at the source. */
export function inferred<const T>(value: T, source: string): Cell<T> {
  return {value, grade: 'inferred', source}
}

/** A statement that nobody has confirmed, and the look that would. */
export function unconfirmed<const T>(value: T, source: string, check: string): Cell<T> {
  return {value, grade: 'unconfirmed', source, check}
}

const ranks: Readonly<Record<Grade, number>> = {source: 0, inferred: 1, unconfirmed: 2}

/** The grade of a conclusion is that of its weakest ground. */
export function weakest(grades: Iterable<Grade>): Grade {
  let worst: Grade = 'source'
  for (const grade of grades) if (ranks[grade] > ranks[worst]) worst = grade
  return worst
}
