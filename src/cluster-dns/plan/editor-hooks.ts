import type {EditRequest} from '../../../plugins/coredns/src/index.ts'
import type {DnsState} from '../types.ts'

/** What the editor asks beside the text itself: which block answers a host, by simulation. */
export function stateHooks(_state: DnsState): Pick<EditRequest, 'answers' | 'check'> {
  return {}
}
