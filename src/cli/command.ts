import {Command, type Interfaces} from '@oclif/core'
import type {SrcipDocument} from '../model/documents.ts'
import {exitCodes, SrcipError} from '../model/errors.ts'
import type {KubeClient} from '../kube/types.ts'
import type {EventSink} from '../model/events.ts'
import {printable, printableLines} from '../present/table.ts'
import type {View} from '../present/view.ts'
import {Interruption} from './interrupt.ts'
import {globalFlags, type KubeFlagValues} from './flags.ts'
import {reportError} from './report.ts'
import {usesColor, viewOptions, type ColorChoice} from './terminal.ts'

/** The flags that decide how a result is shown; a command passes its own parsed flags. */
export interface FinishFlags {
  readonly color: ColorChoice
  readonly output?: string
  readonly 'no-headers'?: boolean
  readonly jq?: string | undefined
  readonly 'detailed-exitcode'?: boolean
}

/**
 * Base of every command: parses, runs, shows one result on stdout and ends with the exit codes of design.md 4.
 * Commands throw SrcipErrors; nothing but this class writes to stdout, sets the exit code or listens for signals.
 */
export abstract class SrcipCommand extends Command {
  static override baseFlags = globalFlags

  /** Aborted by signals and by `--timeout`; pass `interruption.signal` to everything that waits. */
  protected readonly interruption = new Interruption()
  #flags: Record<string, unknown> = {}
  #events: EventSink | undefined
  #closers: (() => Promise<void> | void)[] = []

  protected override async init(): Promise<void> {
    await super.init()
    this.interruption.listen()
  }

  protected override async parse<
    F extends Interfaces.OutputFlags<F>,
    B extends Interfaces.OutputFlags<B>,
    A extends Interfaces.OutputArgs<A>,
  >(options?: Interfaces.Input<F, B, A>, argv?: string[]): Promise<Interfaces.ParserOutput<F, B, A>> {
    const result = await super.parse(options, argv)
    this.#flags = result.flags
    if (typeof this.#flags['timeout'] === 'number') this.interruption.limit(this.#flags['timeout'])
    return result
  }

  /** Runs `close` when the command is over, however it ends; the last registered goes first. */
  protected onFinish(close: () => Promise<void> | void): void {
    this.#closers.unshift(close)
  }

  /** The cluster that the flags, the environment and the kubeconfig name; the connection is closed when the command is over. */
  protected async cluster(flags: KubeFlagValues): Promise<KubeClient> {
    const {openCluster} = await import('./context.ts')
    const client = await openCluster(flags, {
      userAgent: `kubectl-srcip/${this.config.version} (${process.platform}/${process.arch})`,
      verbosity: Number(this.#flags['v'] ?? 0),
      say: (line) => this.say(line),
    })
    this.onFinish(() => client.close())
    return client
  }

  /** Where events of long work go: `--events`, or plain lines on stderr. */
  protected async events(): Promise<EventSink> {
    if (this.#events !== undefined) return this.#events
    const {createEventSink} = await import('../present/progress.ts')
    const {sink, close} = createEventSink({
      target: this.#flags['events'] as string | undefined,
      color: usesColor((this.#flags['color'] as ColorChoice | undefined) ?? 'auto', process.stderr, process.env),
    })
    this.onFinish(close)
    this.#events = sink
    return sink
  }

  /**
   * Shows the result, once, and sets the exit code: the document's own, or 20 for a change under `--detailed-exitcode`.
   * Warnings go to stderr unless the document itself is printed.
   */
  protected async finish<T extends SrcipDocument>(document: T, view: View<T>, flags: FinishFlags): Promise<void> {
    const detailed = flags['detailed-exitcode'] === true && document.exitCode === 0 && document.changed
    const shown = detailed ? {...document, exitCode: exitCodes.Changed} : document
    const pieces = await this.#render(shown, view, flags)
    if (!isMachineFormat(flags.output) && flags.jq === undefined) {
      for (const warning of document.warnings) this.say(`warning: ${warning}`)
    }
    for (const piece of pieces) await this.print(piece)
    process.exitCode = shown.exitCode
  }

  /** A result whose content went to stdout itself (an archive): the table goes to stderr, the exit code is the document's. */
  protected finishAside<T extends SrcipDocument>(document: T, view: View<T>): void {
    const table = view.table(document, {wide: false, headers: true, color: false, columns: undefined})
    for (const line of [...document.warnings.map((warning) => `warning: ${warning}`), ...table.trimEnd().split('\n')])
      this.say(line)
    process.exitCode = document.exitCode
  }

  /** Writes the result to stdout; resolves when it is flushed. Only for results that are not documents (a Corefile, a completion script). */
  protected async print(text: string | Uint8Array): Promise<void> {
    if (text.length === 0) return
    await new Promise<void>((resolve, reject) =>
      process.stdout.write(text, (error) => (error ? reject(error) : resolve())),
    )
  }

  /**
   * A line for the person at the keyboard; what a terminal would obey is shown escaped, since files, clusters and registries
   * decide what stands in it. Silent under `--events jsonl`, where stderr belongs to the events.
   */
  protected say(line: string): void {
    this.sayStyled(printableLines(line))
  }

  /** Text for stderr that is already safe for a terminal and may hold our own colours (a diff). */
  protected sayStyled(text: string): void {
    if (this.#flags['events'] !== 'jsonl') process.stderr.write(`${text}\n`)
  }

  /** Pieces of text, so that a large document need not be one. */
  async #render<T extends SrcipDocument>(document: T, view: View<T>, flags: FinishFlags): Promise<Iterable<string>> {
    const {jsonPieces, toYaml, filterWithJq} = await import('../present/serialise.ts')
    if (flags.jq !== undefined) {
      const filtered = await filterWithJq(document, flags.jq).catch((error: Error) => {
        throw new SrcipError('Usage', `--jq failed: ${error.message}`, {cause: error})
      })
      return [filtered]
    }
    const options = viewOptions(flags)
    switch (flags.output) {
      case 'json':
        return jsonPieces(document)
      case 'yaml':
        return [await toYaml(document)]
      case 'name':
        return [(view.name?.(document) ?? []).map((line) => `${printable(line)}\n`).join('')]
      case 'diff':
        return [view.diff?.(document, options) ?? '']
      case 'html':
        return [view.html?.(document) ?? '']
      case 'junit':
        return [view.junit?.(document) ?? '']
      default:
        return [view.table(document, options)]
    }
  }

  protected override async catch(thrown: unknown): Promise<void> {
    const error = this.#decisive(thrown)
    const report = reportError(error, {verbosity: Number(this.#flags['v'] ?? 0)})
    const format =
      this.#flags['jq'] === undefined ? (this.#flags['output'] ?? formatFromArguments(this.argv)) : undefined
    for (const line of report.lines) this.say(line)
    if (report.document !== undefined && isMachineFormat(format)) {
      const {toJson, toYaml} = await import('../present/serialise.ts')
      await this.print(format === 'json' ? toJson(report.document) : await toYaml(report.document))
    }
    process.exitCode = report.exitCode
  }

  /** A signal or `--timeout` decides the exit code, whatever it made fail on the way; what to type next is kept. */
  #decisive(thrown: unknown): unknown {
    const {aborted, reason} = this.interruption.signal
    if (!aborted || !(reason instanceof SrcipError)) return thrown
    const hints = thrown instanceof SrcipError ? thrown.hints : []
    return new SrcipError(reason.code, reason.message, {exitCode: reason.exitCode, hints, cause: thrown})
  }

  protected override async finally(error: Error | undefined): Promise<void> {
    for (const close of this.#closers.splice(0)) await close()
    this.interruption.release()
    await super.finally(error)
  }
}

function isMachineFormat(format: unknown): format is 'json' | 'yaml' {
  return format === 'json' || format === 'yaml'
}

/** The format asked for when the flags themselves could not be parsed: a script still wants its Error document. */
function formatFromArguments(argv: readonly string[]): string | undefined {
  for (const [index, word] of argv.entries()) {
    if (word === '--') return undefined
    if (word === '-o' || word === '--output') return argv[index + 1]
    const joined = /^(?:-o=?|--output=)(.+)$/.exec(word)
    if (joined !== null) return joined[1]
  }
  return undefined
}
