import {envoyRows} from './envoy-rows.ts'
import {nginxRows} from './nginx-rows.ts'
import {otherRows} from './other-rows.ts'
import type {ReceiverRow} from './row.ts'

/** Every receiver that is known; order plays no part. */
export const receiverRows: readonly ReceiverRow[] = [...nginxRows, ...otherRows, ...envoyRows]

/** One row by its id. */
export function receiverRow(id: string): ReceiverRow | undefined {
  return receiverRows.find((row) => row.id === id)
}
