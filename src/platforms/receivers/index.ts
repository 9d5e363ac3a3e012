import {envoyRows} from './envoy-rows.ts'
import {nginxRows} from './nginx-rows.ts'
import {otherRows} from './other-rows.ts'
import type {ReceiverRow} from './row.ts'

/** Every receiver that is known; order plays no part. */
export const receiverRows: readonly ReceiverRow[] = [...nginxRows, ...otherRows, ...envoyRows]
