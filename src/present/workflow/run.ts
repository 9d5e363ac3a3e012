import type {RunList, RunResult} from '../../model/plan.ts'
import {layoutTable, printable} from '../table.ts'
import type {View} from '../view.ts'

const outcomes: Readonly<Record<RunResult['outcome'], string>> = {
  'already-so': 'it is so already: nothing was written',
  'not-needed': 'not needed: nothing was written',
  planned: 'nothing was written (dry run)',
  done: 'done, and proved',
  waiting: 'waiting for a person',
  undone: 'a proof failed: what the step wrote was put back',
  failed: 'failed',
  interrupted: 'interrupted',
  'rolled-back': 'taken back, and proved',
}

/** What became of each step, what ended it, and what to type next. */
export const runResultView: View<RunResult> = {
  table(result, options) {
    const rows = result.steps.map((step, index) => [
      String(index + 1),
      step.id,
      step.state,
      step.evidence.at(-1) ?? step.title,
    ])
    const table = rows.length === 0 ? '' : layoutTable(['#', 'STEP', 'STATE', 'DETAIL'], rows, options.headers)
    const lines = [
      `${result.run === undefined ? '' : `run ${result.run}: `}${outcomes[result.outcome]}`,
      ...(result.reason === undefined ? [] : [result.reason]),
      ...result.next.map((line) => `next: ${line}`),
    ]
    return `${table}${lines.map((line) => `${printable(line)}\n`).join('')}`
  },
  name: (result) => (result.run === undefined ? [] : [`run/${result.run}`]),
}

/** The runs of a cluster, oldest first. */
export const runListView: View<RunList> = {
  table({runs}, options) {
    if (runs.length === 0) return 'no run has left a record\n'
    const rows = runs.map((run) => [
      run.id,
      run.namespace,
      run.operation,
      run.platform,
      run.subject,
      run.status,
      run.step,
      run.by,
    ])
    return layoutTable(
      ['RUN', 'NAMESPACE', 'OPERATION', 'PLATFORM', 'SUBJECT', 'STATUS', 'STEP', 'BY'],
      rows,
      options.headers,
    )
  },
  name: ({runs}) => runs.map((run) => `run/${run.id}`),
}
