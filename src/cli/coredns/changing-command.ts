import {SrcipCommand, type FinishFlags} from '../command.ts'
import type {KubeFlagValues} from '../flags.ts'
import {usesColor} from '../terminal.ts'
import type {ChangeFlagValues, changeCluster, changeFile, ClusterChangeOptions} from './change-command.ts'

type ChangingFlags = ChangeFlagValues &
  KubeFlagValues &
  Omit<FinishFlags, 'output'> & {readonly output?: string | undefined}

/** What a change of a cluster is made with, whichever change it is. */
type OnCluster = Omit<ClusterChangeOptions, 'operation' | 'flags'>

/** `apply`, `clean` and `adopt`: what they show of a change, on a file and on a cluster. */
export abstract class ChangingCommand extends SrcipCommand {
  /** With `-f` the result is the file itself, unless a document is asked for; only a repair in place is asked about. */
  protected async changeGiven(operation: Parameters<typeof changeFile>[0], flags: ChangingFlags): Promise<void> {
    const {changeFile: change, fileExitCode, printsFile} = await import('./change-command.ts')
    const {corednsPlanView, refusalLines} = await import('../../present/coredns-plan.ts')
    const {document, texts, bytes} = await change(operation, flags, this.diffs(flags))
    for (const line of refusalLines(document)) this.say(line)
    if (!printsFile(flags))
      return await this.finish(document, corednsPlanView(texts), {...flags, output: flags.output ?? 'table'})
    for (const warning of document.warnings) this.say(`warning: ${warning}`)
    if (bytes !== undefined) await this.print(bytes)
    process.exitCode = fileExitCode(document, flags['detailed-exitcode'] === true)
  }

  protected async changeRunning(
    flags: ChangingFlags,
    change: (options: OnCluster) => ReturnType<typeof changeCluster>,
  ): Promise<void> {
    const {corednsResultView, refusalLines} = await import('../../present/coredns-plan.ts')
    const {result, texts} = await change({
      client: await this.cluster(flags),
      signal: this.interruption.signal,
      onEvent: await this.events(),
      say: (line) => this.say(line),
      ...this.diffs(flags),
    })
    for (const line of refusalLines(result.plan)) this.say(line)
    await this.finish(result, corednsResultView(texts), {...flags, output: flags.output ?? 'table'})
  }

  private diffs(flags: ChangingFlags): Pick<OnCluster, 'sayDiff' | 'color'> {
    return {
      sayDiff: (text) => this.sayStyled(text),
      color: usesColor(flags.color, process.stderr, process.env),
    }
  }
}
