import type {SrcipDocument} from '../model/documents.ts'
import type {View} from './view.ts'

export interface VersionDocument extends SrcipDocument {
  readonly client: {readonly version: string; readonly node: string; readonly platform: string}
  readonly schemas: readonly string[]
}

export const versionView: View<VersionDocument> = {
  table: ({client}) => `kubectl-srcip ${client.version} (${client.platform}, Node ${client.node})\n`,
}
