import type {VersionDocument} from '../model/documents.ts'
import type {View} from './view.ts'

export const versionView: View<VersionDocument> = {
  table: ({client}) => `kubectl-srcip ${client.version} (${client.platform}, Node ${client.node})\n`,
}
