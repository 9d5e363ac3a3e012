/** Says what the demo does while it does it, with times. */
export type Narrator = {
  /** Runs one step under a heading; what `work` proves it tells itself. */
  step<T>(title: string, work: () => Promise<T>): Promise<T>
  /** Something that was seen. */
  fact(text: string): void
  /** A command as a person would type it. */
  command(text: string): void
  note(text: string): void
  /** The step that runs or ran last. */
  current(): string
  verdict(text: string): void
}

/** A narrator on stdout; its clock starts now. */
export function narrator(): Narrator {
  const started = performance.now()
  const stamp = (since: number) => `${((performance.now() - since) / 1000).toFixed(1)} s`
  const print = (text: string) => console.log(`${`[${stamp(started)}]`.padEnd(10)} ${text}`)
  let step = 'start'
  return {
    async step(title, work) {
      step = title
      const begun = performance.now()
      print(title)
      const result = await work()
      print(`  held after ${stamp(begun)}`)
      return result
    },
    fact: (text) => print(`    ${text}`),
    command: (text) => print(`  $ ${text}`),
    note: print,
    current: () => step,
    verdict: (text) => console.log(`\ndemo: ${text} (${stamp(started)})`),
  }
}

/** Throws unless something holds; the message says what was expected and what was there. */
export function expectThat(holds: boolean, what: string, found?: unknown): void {
  if (holds) return
  const seen = found === undefined ? '' : `; found ${typeof found === 'string' ? found.trim() : JSON.stringify(found)}`
  throw new Error(`expected ${what}${seen}`)
}
