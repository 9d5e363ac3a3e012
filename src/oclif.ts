import {readFileSync} from 'node:fs'
import {join} from 'node:path'
import {Config, Help, Plugin} from '@oclif/core'

/** What the build writes down so that nothing has to be loaded to answer it. */
export interface PluginDescription {
  readonly manifest: unknown
  /** Root help by how the plugin was called, exactly as oclif prints it without a terminal. */
  readonly help: Readonly<Record<string, string>>
  /** `name/version`, the part of `--version` that does not depend on the machine. */
  readonly version: string
}

/** Reads the built plugin in `root` and describes it; the manifest has a stable order and no paths. */
export async function describePlugin(root: string): Promise<PluginDescription> {
  const plugin = new Plugin({root, ignoreManifest: true, isRoot: true, errorOnManifestCreate: true})
  await plugin.load()
  const manifest = plugin.manifest
  const commands = Object.fromEntries(Object.entries(manifest.commands).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  const help: Record<string, string> = {}
  for (const bin of ['kubectl srcip', 'helm srcip']) {
    const pjson = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    pjson.oclif.bin = bin
    help[bin] = await rootHelp(await Config.load({root, pjson, ignoreManifest: true}))
  }
  const {name, version} = plugin
  return {manifest: {commands, version: manifest.version}, help, version: `${name}/${version}`}
}

async function rootHelp(config: Config): Promise<string> {
  const lines: string[] = []
  class Recorder extends Help {
    override log(...words: unknown[]): void {
      lines.push(words.join(' '))
    }
  }
  await new Recorder(config, {...config.pjson.oclif.helpOptions, stripAnsi: true, maxWidth: 80}).showHelp([])
  // The machine that builds is not the machine that runs: bin/run.js fills in its own.
  return `${lines.join('\n')}\n`.replace(config.userAgent, '{userAgent}')
}
