import {SrcipCommand} from '../../cli/command.ts'
import {adoptFlags} from '../../cli/coredns/flags.ts'
import {usesColor} from '../../cli/terminal.ts'

export default class CorednsAdopt extends SrcipCommand {
  static override summary = 'Take over the names of ouroboros or hairpin-proxy: its lines go and ours come in one write'
  static override description =
    'Every name that the other tool serves now leads to our proxy afterwards; all of them or none. Shows the diff, asks, writes, waits until every CoreDNS pod answers so, and puts the previous bytes back when one refuses. Refused (33) while the other controller has a pod; --stop-other scales it to 0 first and waits. With -f the new Corefile goes to stdout, or back into the file with --in-place; no cluster is asked.'
  static override examples = [
    '<%= config.bin %> <%= command.id %> --dry-run=server',
    '<%= config.bin %> <%= command.id %> --stop-other --target srcip/srcip-proxy',
    '<%= config.bin %> <%= command.id %> -f Corefile -o diff',
  ]
  static override flags = adoptFlags

  async run(): Promise<void> {
    const {flags: given} = await this.parse(CorednsAdopt)
    const flags = {...given, owner: 'srcip' as const}
    const {changeFile, fileExitCode, printsFile} = await import('../../cli/coredns/change-command.ts')
    const {corednsPlanView, corednsResultView, refusalLines} = await import('../../present/coredns-plan.ts')
    if (flags.filename !== undefined) {
      const {document, texts, bytes} = await changeFile('adopt', flags)
      for (const line of refusalLines(document)) this.say(line)
      if (!printsFile(flags))
        return await this.finish(document, corednsPlanView(texts), {...flags, output: flags.output ?? 'table'})
      for (const warning of document.warnings) this.say(`warning: ${warning}`)
      if (bytes !== undefined) await this.print(bytes)
      process.exitCode = fileExitCode(document, flags['detailed-exitcode'])
      return
    }
    const {adoptInCluster} = await import('../../cli/coredns/adopt-in-cluster.ts')
    const {result, texts} = await adoptInCluster({
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
