import {SrcipCommand} from '../../cli/command.ts'
import {applyFlags} from '../../cli/coredns/flags.ts'
import {usesColor} from '../../cli/terminal.ts'

export default class CorednsApply extends SrcipCommand {
  static override summary = 'Point names at the proxy in cluster DNS, and prove it on every CoreDNS pod'
  static override description =
    'Plans, shows the diff, asks, writes, waits until every CoreDNS pod answers so, and puts the previous bytes back when one refuses. The names given (or those of the Ingresses) are the whole wanted set. With -f the new Corefile goes to stdout, or back into the file with --in-place; no cluster is asked.'
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --host shop.example.org --target srcip/srcip-proxy --yes',
    '<%= config.bin %> <%= command.id %> -f Corefile --hosts-file hosts.txt --in-place',
  ]
  static override flags = applyFlags

  async run(): Promise<void> {
    const {flags} = await this.parse(CorednsApply)
    const {changeCluster, changeFile, fileExitCode, printsFile} = await import('../../cli/coredns/change-command.ts')
    const {corednsPlanView, corednsResultView, refusalLines} = await import('../../present/coredns-plan.ts')
    if (flags.filename !== undefined) {
      const {document, texts, bytes} = await changeFile('apply', flags)
      for (const line of refusalLines(document)) this.say(line)
      if (!printsFile(flags))
        return await this.finish(document, corednsPlanView(texts), {...flags, output: flags.output ?? 'table'})
      for (const warning of document.warnings) this.say(`warning: ${warning}`)
      if (bytes !== undefined) await this.print(bytes)
      process.exitCode = fileExitCode(document, flags['detailed-exitcode'])
      return
    }
    const {result, texts} = await changeCluster({
      operation: 'apply',
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
