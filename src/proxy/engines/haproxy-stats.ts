import {newCounters, type PortCounters} from '../metrics.ts'

/** Process ids of the workers, old ones that still have connections included, from the answer to `show proc` of HAProxy's master. */
export function readProcesses(answer: string): {readonly current: number[]; readonly old: number[]} {
  const found = {current: [] as number[], old: [] as number[]}
  let list: number[] | undefined
  for (const line of answer.split('\n')) {
    if (line.startsWith('#'))
      list = line === '# workers' ? found.current : line === '# old workers' ? found.old : undefined
    const [pid, kind] = line.trim().split(/\s+/)
    if (kind === 'worker' && list) list.push(Number(pid))
  }
  return found
}

/**
 * Counters of one worker from its answer to `show stat` (CSV, columns by name).
 *
 * @param headerPorts Service ports whose connections carry a header
 */
export function readStatistics(answer: string, headerPorts: ReadonlySet<number>): PortCounters[] {
  const [head = '', ...lines] = answer.split('\n')
  const columns = head.replace(/^# /, '').split(',')
  const ports = new Map<number, PortCounters>()
  for (const line of lines) {
    const fields = line.split(',')
    const text = (name: string) => fields[columns.indexOf(name)] ?? ''
    const number = (name: string) => Number(text(name)) || 0
    const port = Number(/^port-([0-9]+)$/.exec(text('pxname'))?.[1])
    if (!port) continue
    const counters = ports.get(port) ?? newCounters(port)
    ports.set(port, counters)
    if (text('svname') === 'FRONTEND') {
      counters.accepted = number('stot')
      counters.active = number('scur')
      counters.bytesUp = number('bin')
      counters.bytesDown = number('bout')
      note(counters, 'max-connections', number('dcon'))
    } else if (text('svname') === 'BACKEND') {
      counters.connected = number('connect')
      counters.connectSeconds = (number('ctime') * number('connect')) / 1000
      counters.headersSent = headerPorts.has(port) ? number('connect') : 0
      note(counters, 'connect-timeout', number('econ'))
      note(counters, 'client-reset', number('cli_abrt'))
      note(counters, 'target-reset', number('srv_abrt'))
    } else note(counters, 'connect-failed', number('wretr') + number('econ'))
  }
  return [...ports.values()]
}

function note(counters: PortCounters, reason: string, count: number): void {
  if (count > 0) counters.errors[reason] = (counters.errors[reason] ?? 0) + count
}
