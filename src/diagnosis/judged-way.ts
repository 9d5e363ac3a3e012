import type {ClusterView} from './cluster-view.ts'
import type {WayFacts} from './path/facts.ts'
import type {Judgement} from './path/verdict.ts'

/** One way in with its verdicts: what checks look at. */
export interface JudgedWay {
  readonly id: string
  readonly facts: WayFacts
  readonly outside: Judgement
  readonly hairpin: Judgement
  readonly after?: {readonly direction: 'enable' | 'disable'; readonly outside: Judgement; readonly hairpin: Judgement}
}

/** What checks get. */
export interface Diagnosis {
  readonly cluster: ClusterView
  readonly ways: readonly JudgedWay[]
}
