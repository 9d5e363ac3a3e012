import {readdirSync} from 'node:fs'
import {readFile} from 'node:fs/promises'
import type {ProcessUsage} from '../metrics.ts'

/** Clock ticks a second in /proc/PID/stat, and bytes in a page: the same on every Linux that Node runs on. */
const ticks = 100
const pageBytes = 4096

/** What this process takes, all its threads together. `lag` is the largest event loop delay in seconds. */
export function usageOfProcess(lag: number): ProcessUsage {
  const {user, system} = process.cpuUsage()
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: process.memoryUsage.rss(),
    openFiles: openFiles('self'),
    eventLoopLagSeconds: lag,
  }
}

/** What another process takes; undefined if it is gone. */
export async function usageOf(pid: number): Promise<ProcessUsage | undefined> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'latin1')
    // The program's name may hold anything; the numbers begin after its closing bracket.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const cpuSeconds = (Number(fields[11]) + Number(fields[12])) / ticks
    return {
      cpuSeconds,
      residentBytes: Number(fields[21]) * pageBytes,
      openFiles: openFiles(pid),
      eventLoopLagSeconds: 0,
    }
  } catch {
    return undefined
  }
}

/** 0 where the system does not tell. */
function openFiles(process: number | 'self'): number {
  try {
    return readdirSync(`/proc/${process}/fd`).length
  } catch {
    return 0
  }
}
