import type {Log, SourceStatus} from '../kube/index.ts'
import type {EventReason} from './reports.ts'
import type {Conditions} from './reports.ts'
import type {WatchedName} from './sources.ts'

const reasons: Readonly<Partial<Record<SourceStatus['state'], EventReason>>> = {
  forbidden: 'SourceForbidden',
  stale: 'SourceStale',
}

/** One log line and one event for each change of a source's state; the names that it gave stay published meanwhile. */
export function reportSource(
  name: WatchedName,
  status: SourceStatus,
  previous: SourceStatus | undefined,
  conditions: Conditions,
  log: Log,
): void {
  if (previous?.state === status.state) return
  const key = `source ${name}`
  const reason = reasons[status.state]
  if (reason !== undefined) {
    const cause = status.failure === undefined ? '' : `: ${status.failure.message}`
    conditions.raise(key, {
      reason,
      note: `source ${name} is ${status.state}${cause}; names that it gave stay published`,
      action: 'Watch',
      fields: {source: name},
    })
    return
  }
  conditions.clear(key, `source ${name} is ${status.state} again`)
  if (status.state === 'absent' && previous?.everSynced === true) {
    log.warn(`source ${name} is not served any more; its names go`, {source: name})
  } else if (status.state === 'absent') log.info(`source ${name} is not served by this cluster`, {source: name})
  else log.debug(`source ${name} is ${status.state}`, {source: name})
}
