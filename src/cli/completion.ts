/** The parts of oclif.manifest.json that completion reads. */
export interface Manifest {
  readonly commands: Readonly<Record<string, ManifestCommand>>
}
interface ManifestCommand {
  readonly summary?: string
  readonly hidden?: boolean
  readonly flags: Readonly<Record<string, ManifestFlag>>
}
interface ManifestFlag {
  readonly name: string
  readonly char?: string
  readonly type: 'boolean' | 'option'
  readonly summary?: string
  readonly options?: readonly string[]
  readonly helpValue?: string
  readonly hidden?: boolean
}

export interface Candidate {
  readonly value: string
  readonly description: string
}

/** cobra's ShellCompDirective: 0 lets the shell add file names, 4 forbids them. */
const files = 0
const noFiles = 4

/**
 * What may follow on the line. `words` are the words after `srcip`, the last one possibly empty (kubectl's contract).
 * Knows only the manifest: no cluster is asked, so it answers at once and never fails.
 */
export function candidates(
  words: readonly string[],
  manifest: Manifest,
): {lines: readonly Candidate[]; directive: number} {
  const typed = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const command = findCommand(before, manifest)
  if (command !== undefined) {
    const pending = flagOf(before.at(-1), command)
    if (pending !== undefined && pending.type === 'option') return flagValues(pending, typed)
    const joined = /^(--[^=]+)=(.*)$/.exec(typed)
    if (joined !== null) {
      const flag = flagOf(joined[1], command)
      if (flag?.options !== undefined)
        return {
          lines: flag.options.map((value) => ({value: `${joined[1]}=${value}`, description: ''})),
          directive: noFiles,
        }
      return {lines: [], directive: files}
    }
    if (typed.startsWith('-')) return {lines: flagNames(command, typed), directive: noFiles}
  }
  return {lines: subcommands(before, typed, manifest), directive: noFiles}
}

function findCommand(before: readonly string[], manifest: Manifest): ManifestCommand | undefined {
  const words = before.filter((word) => !word.startsWith('-'))
  return manifest.commands[words.slice(0, 2).join(':')] ?? manifest.commands[words[0] ?? '']
}

function flagOf(word: string | undefined, command: ManifestCommand): ManifestFlag | undefined {
  if (word === undefined) return undefined
  return Object.values(command.flags).find(
    (flag) => word === `--${flag.name}` || (flag.char !== undefined && word === `-${flag.char}`),
  )
}

function flagValues(flag: ManifestFlag, typed: string): {lines: readonly Candidate[]; directive: number} {
  const options = (flag.options ?? []).filter((value) => value.startsWith(typed))
  return {
    lines: options.map((value) => ({value, description: ''})),
    directive: flag.helpValue === 'FILE' ? files : noFiles,
  }
}

function flagNames(command: ManifestCommand, typed: string): Candidate[] {
  return Object.values(command.flags)
    .filter((flag) => flag.hidden !== true)
    .map((flag) => ({value: `--${flag.name}`, description: flag.summary ?? ''}))
    .filter(({value}) => value.startsWith(typed))
    .toSorted((a, b) => (a.value < b.value ? -1 : 1))
}

function subcommands(before: readonly string[], typed: string, manifest: Manifest): Candidate[] {
  const prefix = before.filter((word) => !word.startsWith('-'))
  const found = new Map<string, string>()
  for (const [id, command] of Object.entries(manifest.commands)) {
    const path = id.split(':')
    const next = path[prefix.length]
    if (command.hidden === true || next === undefined || prefix.some((word, index) => path[index] !== word)) continue
    if (next.startsWith(typed) && !found.has(next))
      found.set(next, path.length === prefix.length + 1 ? (command.summary ?? '') : '')
  }
  return [...found]
    .map(([value, description]) => ({value, description}))
    .toSorted((a, b) => (a.value < b.value ? -1 : 1))
}
