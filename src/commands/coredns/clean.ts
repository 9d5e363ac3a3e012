import {SrcipCommand} from '../../cli/command.ts'
import {cleanFlags} from '../../cli/coredns/flags.ts'
import {usesColor} from '../../cli/terminal.ts'

export default class CorednsClean extends SrcipCommand {
  static override summary = 'Take every line of ours out of cluster DNS, and prove it on every CoreDNS pod'
  static override description =
    'Our lines go, byte for byte what was there before comes back; lines that lost their markers are found by their target. Refused (33) while a live `run` holds the Lease, which is named. With -f the Corefile without our lines goes to stdout, or back into the file with --in-place.'
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> -f Corefile --in-place',
  ]
  static override flags = cleanFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(CorednsClean)
    const {changeCluster, changeFile, fileExitCode, printsFile} = await import('../../cli/coredns/change-command.ts')
    const {corednsPlanView, corednsResultView, refusalLines} = await import('../../present/coredns-plan.ts')
    if (flags.filename !== undefined) {
      const {document, texts, bytes} = await changeFile('clean', flags)
      for (const line of refusalLines(document)) this.say(line)
      if (!printsFile(flags))
        return await this.finish(document, corednsPlanView(texts), {...flags, output: flags.output ?? 'table'})
      for (const warning of document.warnings) this.say(`warning: ${warning}`)
      if (bytes !== undefined) await this.print(bytes)
      process.exitCode = fileExitCode(document, flags['detailed-exitcode'])
      return
    }
    const {result, texts} = await changeCluster({
      operation: 'clean',
      client: await this.cluster(flags),
      flags,
      signal: this.interruption.signal,
      onEvent: await this.events(),
      say: (line) => this.say(line),
      sayDiff: (text) => this.sayStyled(text),
      color: usesColor(flags.color, process.stderr, process.env),
    })
    for (const line of refusalLines(result.plan)) this.say(line)
    await this.finish(result, corednsResultView(texts), {...flags, output: flags.output ?? 'table'})
  }
}
