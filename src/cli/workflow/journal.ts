import {appendFileSync, closeSync, fsyncSync, mkdirSync, openSync, writeSync} from 'node:fs'
import {homedir} from 'node:os'
import {join} from 'node:path'
import type {RunRecord} from '../../workflows/engine/ports.ts'

/**
 * The local account of a run: a line before and after each save of its record, flushed to the disk. A cache for people; nothing
 * is decided by it, so a home that cannot be written is no reason to stop.
 */
export function openJournal(
  id: string,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): {note(record: RunRecord, saved: boolean): void; close(): void; readonly file: string} {
  const folder = join(environment['XDG_STATE_HOME'] || join(homedir(), '.local', 'state'), 'kubectl-srcip', 'runs')
  const file = join(folder, `${id}.jsonl`)
  let descriptor: number | undefined
  try {
    mkdirSync(folder, {recursive: true, mode: 0o700})
    appendFileSync(file, '', {mode: 0o600})
    descriptor = openSync(file, 'a', 0o600)
  } catch {
    descriptor = undefined
  }
  return {
    file,
    note({status, direction, cursor, plan}, saved) {
      if (descriptor === undefined) return
      const line = {
        time: new Date().toISOString(),
        ...{status, direction, cursor, saved, hash: plan.hash},
        step: plan.steps[cursor]?.id ?? '',
      }
      try {
        writeSync(descriptor, `${JSON.stringify(line)}\n`)
        fsyncSync(descriptor)
      } catch {
        // a full disk: the record in the cluster is what counts
      }
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor)
      descriptor = undefined
    },
  }
}
