import {
  parseCorefile,
  parseVersion,
  type ParsedCorefile,
  type ParseOptions,
} from '../../../plugins/coredns/src/index.ts'
import {SrcipError} from '../../model/errors.ts'
import type {DnsState} from '../types.ts'

/** How the Corefile of a state is read: its path, imports, environment and release. */
export function parseOptionsOf(state: DnsState): ParseOptions {
  const version = parseVersion(state.version)
  return {
    path: state.corefilePath,
    files: state.files,
    directories: state.directories,
    imports: 'unknown',
    env: state.env,
    ...(version === undefined ? {} : {version}),
  }
}

/** The parse of a state as CoreDNS would make it. Throws a Precondition (32) with the line where CoreDNS would refuse the text. */
export function parseState(state: DnsState): ParsedCorefile {
  const parsed = parseCorefile(state.corefile.bytes, parseOptionsOf(state))
  if (parsed.error === undefined) return parsed
  const object = state.origin === 'file' ? state.corefile.key : `${state.corefile.source} key ${state.corefile.key}`
  throw new SrcipError('Precondition', `CoreDNS would refuse ${object}: ${parsed.error.message}`, {
    object,
    hints: ['kubectl srcip coredns lint tells what is wrong'],
  })
}
