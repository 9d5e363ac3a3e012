import {spawnSync} from 'node:child_process'
import {mkdirSync, mkdtempSync, rmSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {defaultVersion, directivesOf, parseCorefile, type ParsedCorefile} from '../../plugins/coredns/src/index.ts'
import type {CorefileCase} from './corefile-generator.ts'

/** What both parsers are compared by. */
export interface ParserAnswer {
  readonly blocks: readonly {
    readonly keys: readonly string[]
    readonly tokens: Readonly<Record<string, readonly (readonly [file: string, line: number, text: string])[]>>
  }[]
  readonly error: string
}

interface GoToken {
  readonly File: string
  readonly Line: number
  readonly Text: string
}

interface GoAnswer {
  readonly blocks:
    readonly {readonly Keys: readonly string[] | null; readonly Tokens: Record<string, GoToken[]>}[] | null
  readonly error: string
}

/** A folder for the files of cases; imports resolve below it. */
export interface CaseFolder {
  readonly root: string
  remove(): void
}

const caseDirectories = ['custom', 'lib']

export function caseFolder(): CaseFolder {
  const root = mkdtempSync(join(tmpdir(), 'srcip-corefile-'))
  for (const name of caseDirectories) mkdirSync(join(root, name))
  return {root, remove: () => rmSync(root, {recursive: true, force: true})}
}

/** The parser of CoreDNS, over many cases in one process. A run longer than `timeout` milliseconds is an error. */
export function askGoParser(
  program: string,
  cases: readonly CorefileCase[],
  root: string,
  timeout = 120_000,
): ParserAnswer[] {
  const directives = [...directivesOf(defaultVersion)]
  const input = cases.map((one) =>
    JSON.stringify({
      path: join(root, 'Corefile'),
      corefile: base64(one.corefile),
      files: Object.fromEntries([...one.files].map(([path, bytes]) => [join(root, path), base64(bytes)])),
      env: {...Object.fromEntries(one.env), HERE: root},
      directives: one.checked ? directives : null,
    }),
  )
  const result = spawnSync(program, {input: `${input.join('\n')}\n`, maxBuffer: 2 ** 30, timeout})
  if (result.error) throw result.error
  if (result.status !== 0) throw new Error(`${program} ended with ${result.status}: ${result.stderr.toString()}`)
  const lines = result.stdout.toString('utf8').split('\n').slice(0, -1)
  return lines.map((line) => fromGo(JSON.parse(line) as GoAnswer))
}

function fromGo(answer: GoAnswer): ParserAnswer {
  const blocks = (answer.blocks ?? []).map(({Keys, Tokens}) => ({
    keys: Keys ?? [],
    tokens: Object.fromEntries(
      Object.keys(Tokens)
        .sort()
        .map((name) => [name, (Tokens[name] ?? []).map(({File, Line, Text}) => [File, Line, Text] as const)]),
    ),
  }))
  return {blocks, error: answer.error}
}

/** Our parser over the same case. */
export function parseCase(one: CorefileCase, root: string): ParsedCorefile {
  return parseCorefile(one.corefile, {
    path: join(root, 'Corefile'),
    files: new Map([...one.files].map(([path, bytes]) => [join(root, path), bytes])),
    directories: new Set(caseDirectories.map((name) => join(root, name))),
    env: {known: new Map([...one.env, ['HERE', root]]), others: 'unset'},
    directives: one.checked,
  })
}

/** Our answer in the shape of the other parser's. */
export function ourAnswer(parsed: ParsedCorefile): ParserAnswer {
  const blocks = parsed.blocks.map((block) => ({
    keys: block.keys,
    tokens: Object.fromEntries(
      [...block.tokens.keys()]
        .sort()
        .map((name) => [name, (block.tokens.get(name) ?? []).map(({file, line, text}) => [file, line, text] as const)]),
    ),
  }))
  return {blocks, error: parsed.error?.message ?? ''}
}

/** Whether an import of a case looks at the machine's own files (`import /*`), which only one of the parsers sees. */
export function leavesFolder({imports, error}: ParsedCorefile, root: string): boolean {
  const outside = (path: string): boolean => path.startsWith('/') && !path.startsWith(`${root}/`)
  const [, named = ''] =
    /(?:Could not import|not found:|but has others:|import pattern) (\/[^\s:]*)/.exec(error?.message ?? '') ?? []
  return imports.some(({kind, resolved}) => kind === 'file' && outside(resolved)) || outside(named)
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
