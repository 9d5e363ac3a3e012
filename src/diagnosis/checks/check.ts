import type {Finding, Remedy} from '../../model/doctor.ts'
import type {Diagnosis} from '../judged-way.ts'
import type {RemedyWord} from '../remedies/words.ts'

export type Severity = Finding['severity']
export type Evidence = Finding['evidence'][number]

/** One thing that can be found. The texts are docs/checks.md. */
export interface Check {
  /** Stable for ever; a check that goes leaves its number behind. */
  readonly id: string
  /** A word for it that speaks. */
  readonly name: string
  readonly severity: Severity
  /** Its first remedy brings the address back or lets people in; the others make it safer or clearer. */
  readonly cures?: true
  /** What it means that this was found. */
  readonly means: string
  /** What to do about it. */
  readonly act: string
  /** Where the rule is written. */
  readonly sources: readonly string[]
  run(diagnosis: Diagnosis): readonly Draft[]
}

/** A finding before it gets its id. */
export interface Draft {
  readonly title: string
  readonly object: string
  /** Default: that of the check. */
  readonly severity?: Severity
  readonly path?: string
  readonly evidence?: readonly Evidence[]
  /** Cheapest first. */
  readonly remedies?: readonly Remedy[]
}

/** A remedy as a sentence. */
export function advice(id: RemedyWord, cost: number, text: string, why: string): Remedy {
  return {id, kind: 'text', text, cost, why}
}

/** A remedy that can be typed. */
export function command(id: RemedyWord, cost: number, text: string, why: string): Remedy {
  return {id, kind: 'command', text, cost, why}
}

/** What is kept of the drafts of a check. */
export function findingsOf(check: Check, diagnosis: Diagnosis): Finding[] {
  return check.run(diagnosis).map(({title, object, severity, path, evidence, remedies}) => ({
    id: check.id,
    severity: severity ?? check.severity,
    title,
    object,
    ...(path === undefined ? {} : {path}),
    evidence: [...(evidence ?? [])],
    remedies: (remedies ?? []).toSorted((a, b) => a.cost - b.cost),
  }))
}
