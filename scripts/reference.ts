/** Writes docs/reference/commands.md from oclif.manifest.json (`--check` only compares). Run by the build, after the manifest. */
import {existsSync, mkdirSync, readFileSync, writeFileSync} from 'node:fs'

interface Flag {
  readonly name: string
  readonly char?: string
  readonly type: 'boolean' | 'option'
  readonly summary?: string
  readonly description?: string
  readonly options?: readonly string[]
  readonly default?: string | number | boolean | readonly string[]
  readonly helpValue?: string
  readonly helpGroup?: string
  readonly multiple?: boolean
  readonly env?: string
  readonly hidden?: boolean
}
interface Command {
  readonly id: string
  readonly summary?: string
  readonly description?: string
  readonly examples?: readonly (string | {readonly description: string; readonly command: string})[]
  readonly args: Readonly<
    Record<string, {readonly name: string; readonly description?: string; readonly required?: boolean}>
  >
  readonly flags: Readonly<Record<string, Flag>>
  readonly hidden?: boolean
}

const {commands} = JSON.parse(readFileSync(new URL('../oclif.manifest.json', import.meta.url), 'utf8')) as {
  commands: Record<string, Command>
}
const visible = Object.values(commands).filter(({hidden}) => hidden !== true)

const fill = (text: string, command: Command) =>
  text.replaceAll('<%= config.bin %>', 'kubectl srcip').replaceAll('<%= command.id %>', command.id.replaceAll(':', ' '))

/** Flags that many commands share are explained once, at the end. */
const groups = new Map<string, Map<string, Flag>>()
const shared = new Set(['KUBERNETES', 'OUTPUT'])

function flagRow(flag: Flag): string {
  const value = flag.type === 'boolean' ? '' : ` ${flag.options?.join('\\|') ?? flag.helpValue ?? 'VALUE'}`
  const summary = flag.summary ?? flag.description ?? ''
  const notes = [
    summary,
    flag.multiple === true && !summary.includes('may be repeated') ? 'may be repeated' : '',
    flag.default === undefined || flag.type === 'boolean' ? '' : `default \`${String(flag.default)}\``,
    flag.env === undefined ? '' : `also \`${flag.env}\``,
  ].filter((note) => note !== '' && note !== undefined)
  return `| ${flag.char === undefined ? '' : `\`-${flag.char}\`, `}\`--${flag.name}${value.replaceAll('\\|', '|').replaceAll('|', '\\|')}\` | ${notes.join('; ').replaceAll('|', '\\|')} |`
}

const lines = ['# Commands', '', 'Written from the commands themselves by `npm run build`; do not edit.', '']
for (const command of visible)
  lines.push(`- [${command.id.replaceAll(':', ' ')}](#${command.id.replaceAll(':', '-')}): ${command.summary ?? ''}`)
for (const command of visible) {
  const args = Object.values(command.args).map((arg) =>
    arg.required === true ? ` ${arg.name.toUpperCase()}` : ` [${arg.name.toUpperCase()}]`,
  )
  lines.push(
    '',
    `<a id="${command.id.replaceAll(':', '-')}"></a>`,
    `## kubectl srcip ${command.id.replaceAll(':', ' ')}${args.join('')}`,
    '',
    command.summary ?? '',
  )
  if (command.description !== undefined) lines.push('', fill(command.description, command))
  if (command.examples?.length) {
    lines.push('', '```')
    for (const example of command.examples)
      lines.push(fill(typeof example === 'string' ? example : `# ${example.description}\n${example.command}`, command))
    lines.push('```')
  }
  const own: Flag[] = []
  for (const flag of Object.values(command.flags)) {
    if (flag.hidden === true) continue
    if (flag.helpGroup !== undefined && shared.has(flag.helpGroup) && flag.name !== 'output') {
      const group = groups.get(flag.helpGroup) ?? new Map<string, Flag>()
      group.set(flag.name, flag)
      groups.set(flag.helpGroup, group)
    } else own.push(flag)
  }
  if (own.length > 0) lines.push('', '| flag | meaning |', '|---|---|', ...own.map(flagRow))
}
for (const [group, flags] of groups) {
  lines.push(
    '',
    `## Shared flags: ${group.toLowerCase()}`,
    '',
    '| flag | meaning |',
    '|---|---|',
    ...[...flags.values()].map(flagRow),
  )
}

const target = new URL('../docs/reference/commands.md', import.meta.url)
const text = `${lines.join('\n')}\n`
if (!existsSync(target) || readFileSync(target, 'utf8') !== text) {
  if (process.argv.includes('--check')) {
    console.error('docs/reference/commands.md is out of date: npm run build, then commit it')
    process.exitCode = 1
  } else {
    mkdirSync(new URL('.', target), {recursive: true})
    writeFileSync(target, text)
  }
}
