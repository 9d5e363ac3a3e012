import {Flags} from '@oclif/core'
import {headers, type Header} from '../../lb/balancer.ts'
import {durationFlag, kubeFlags} from '../flags.ts'

const group = 'BALANCER'

export const lbFlags = {
  ...kubeFlags,
  filename: Flags.string({
    char: 'f',
    summary: 'read Service and nodes from this Snapshot, file or folder, may be repeated; - is stdin',
    helpValue: 'FILE',
    multiple: true,
    multipleNonGreedy: true,
  }),
  backend: Flags.string({
    summary: 'a backend by hand, such as 443=192.0.2.10:30443; may be repeated, and no cluster is asked',
    helpValue: 'PORT=ADDRESS:PORT',
    multiple: true,
    multipleNonGreedy: true,
    exclusive: ['filename', 'port'],
    helpGroup: group,
  }),
  port: Flags.integer({
    summary: 'only this port of the Service; may be repeated',
    helpValue: 'PORT',
    multiple: true,
    multipleNonGreedy: true,
    min: 1,
    max: 65_535,
    helpGroup: group,
  }),
  'proxy-protocol': Flags.option({
    options: headers,
    default: 'v1' as const,
    summary: 'header in front of each connection; nginx writes v1 only',
    helpGroup: group,
  })(),
  'listen-address': Flags.string({
    summary: 'listen on this address only; both families without it',
    helpValue: 'ADDRESS',
    helpGroup: group,
  }),
  'idle-timeout': durationFlag('idle-timeout', {
    summary: 'how long a connection may be silent',
    default: 3_600_000,
    helpGroup: group,
  }),
  'connect-timeout': durationFlag('connect-timeout', {
    summary: 'how long a backend may take to accept',
    default: 5000,
    helpGroup: group,
  }),
} as const

/** What the parser makes of them. */
export interface LbFlagValues {
  readonly filename?: readonly string[] | undefined
  readonly namespace?: string | undefined
  readonly backend?: readonly string[] | undefined
  readonly port?: readonly number[] | undefined
  readonly 'proxy-protocol': Header
  readonly 'listen-address'?: string | undefined
  readonly 'idle-timeout'?: number | undefined
  readonly 'connect-timeout'?: number | undefined
}
