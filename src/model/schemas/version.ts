import Type from 'typebox'
import {closed, documentSchema, listOf} from './frame.ts'

/** What `version` prints. */
export const versionSchema = documentSchema('version', 'Version', {
  client: closed({version: Type.String(), node: Type.String(), platform: Type.String({description: 'os/arch'})}),
  schemas: listOf(Type.String({description: 'apiVersions that this tool reads and writes.'})),
})
