import {SrcipCommand} from '../cli/command.ts'
import {outputFlags} from '../cli/flags.ts'
import {apiVersion} from '../model/documents.ts'
import {versionView} from '../present/version.ts'

export default class Version extends SrcipCommand {
  static override summary = 'Print the version of this tool and of the documents it writes'
  static override examples = ['<%= config.bin %> <%= command.id %>', '<%= config.bin %> <%= command.id %> -o json']
  static override flags = outputFlags(['table', 'json', 'yaml'])

  async run(): Promise<void> {
    const {flags} = await this.parse(Version)
    const {version} = this.config
    await this.finish(
      {
        apiVersion,
        kind: 'Version',
        client: {version, node: process.versions.node, platform: `${process.platform}/${process.arch}`},
        schemas: [apiVersion],
        exitCode: 0,
        changed: false,
        warnings: [],
      },
      versionView,
      flags,
    )
  }
}
