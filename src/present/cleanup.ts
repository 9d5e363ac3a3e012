import type {CleanupReport} from '../model/cleanup.ts'
import {layoutTable, printable} from './table.ts'
import type {View} from './view.ts'

const outcomes: Readonly<Record<CleanupReport['outcome'], string>> = {
  'already-clean': 'nothing of ours is in this cluster',
  planned: 'would be taken out (dry run)',
  clean: 'clean: a second look found nothing of ours',
  unproved:
    'the lines are out of cluster DNS, but not every CoreDNS pod could be asked: run this again; nothing was deleted',
  undone: 'a CoreDNS pod did not take the change: the previous bytes were put back, nothing was deleted',
  refused: 'nothing was written',
  left: 'not everything could be taken out: run this again',
}

/** What became of cluster DNS and of each object. */
export const cleanupView: View<CleanupReport> = {
  table(report, options) {
    const {dns} = report
    const rows = [
      ...report.stopped.map((object) => [object, 'stopped', '']),
      ...dns.sources.map((source) => [source, `${dns.lines} lines`, dns.outcome]),
      ...dns.pods.map((pod) => [`pod/${pod.namespace}/${pod.name}`, pod.verdict, pod.reason ?? '']),
      ...report.objects.map((entry) => [entry.object, entry.state, entry.reason ?? '']),
    ]
    const table = rows.length === 0 ? '' : layoutTable(['OBJECT', 'STATE', 'DETAIL'], rows, options.headers)
    return `${table}${printable(outcomes[report.outcome])}\n`
  },
  name: (report) => [...report.stopped, ...report.dns.sources, ...report.objects.map((entry) => entry.object)],
}
