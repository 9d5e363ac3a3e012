import type {EditNote} from '../../../plugins/coredns/src/index.ts'
import type {DnsState} from '../types.ts'

/** Notes of one kind that are told one by one; a file of 40,000 imports must not bury what matters. */
const mostOfAKind = 20

/** What the editor noted, as lines for a person: of each kind the first, and how many more there are. */
export function noteLines(notes: readonly EditNote[], state: DnsState): string[] {
  const kinds = Map.groupBy(notes, (note) => note.code)
  return [...kinds].flatMap(([code, all]) => {
    const lines = [...new Set(all.map((note) => noteText(note, state)))]
    const rest = lines.length - mostOfAKind
    if (rest <= 0) return lines
    return [...lines.slice(0, mostOfAKind), `${rest} more of the same kind (${code})`]
  })
}

function noteText(note: EditNote, state: DnsState): string {
  if (note.code === 'NoReload') {
    const {namespace = 'kube-system', workload = {kind: 'Deployment', name: 'coredns'}} = state.location ?? {}
    return `reload is not loaded: CoreDNS reads the change at its next start only; kubectl -n ${namespace} rollout restart ${workload.kind.toLowerCase()}/${workload.name}`
  }
  return note.at === undefined ? note.text : `${note.text} (line ${note.at.line})`
}
