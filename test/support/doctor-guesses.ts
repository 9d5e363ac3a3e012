import type {DoctorReport} from '../../src/model/doctor.ts'

const open = new Set(['depends', 'unknown'])

/** Firm words that stand in a report of less and in no report of all: a guess that is shown as a fact. */
export function guesses(all: DoctorReport, less: DoctorReport): string[] {
  const found: string[] = []
  for (const way of less.paths) {
    const before = all.paths.find(({id}) => id === way.id)
    for (const side of ['outside', 'hairpin'] as const) {
      const now = way[side].verdict
      const was = before?.[side].verdict ?? 'no such way'
      if (now !== was && !open.has(now)) found.push(`${way.id} ${side}: ${was} -> ${now}`)
    }
  }
  const known = new Set(all.findings.map(({id, object, path}) => `${id} ${path ?? object}`))
  for (const {id, severity, object, path} of less.findings)
    if (severity === 'error' && !known.has(`${id} ${path ?? object}`)) found.push(`new error ${id} ${path ?? object}`)
  return found
}
