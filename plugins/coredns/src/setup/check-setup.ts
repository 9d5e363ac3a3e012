import {directivesOf} from '../directives.ts'
import type {CorefileError, ParsedCorefile, ServerBlock, Token} from '../types.ts'
import type {SetupContext} from './context.ts'
import {Dispenser, SetupError} from './dispenser.ts'
import {readAcl} from './plugins/acl.ts'
import {readCache} from './plugins/cache.ts'
import {checkHealth, checkPprof, checkPrometheus, checkReady, checkReload} from './plugins/endpoints.ts'
import {readForwards} from './plugins/forward.ts'
import {readHosts} from './plugins/hosts.ts'
import {readKubernetes} from './plugins/kubernetes.ts'
import {readRewriteRules} from './plugins/rewrite.ts'
import {
  checkAny,
  checkBare,
  checkBind,
  checkBufsize,
  checkDebug,
  checkErratic,
  checkErrors,
  checkLoadbalance,
  checkLocal,
  checkLog,
  checkLoop,
  checkNsid,
  checkRoot,
} from './plugins/small.ts'
import {readTemplates} from './plugins/template.ts'
import {readAutopath, readFiles, readView} from './plugins/zone-owners.ts'
import {zonesOfArgument} from './zone-arguments.ts'

/** A plugin of a block whose arguments nobody looked at. */
export interface NotChecked {
  readonly plugin: string
  readonly block: number
  readonly file: string
  readonly line: number
}

/** Something in a plugin's arguments that cannot be judged from here. */
export interface Unclear {
  readonly plugin: string
  readonly block: number
  readonly file: string
  readonly line: number
  readonly what: string
}

/** What P3 says. CoreDNS stops at `errors[0]`; the others would follow once it is mended. */
export interface SetupReport {
  readonly errors: readonly CorefileError[]
  readonly notChecked: readonly NotChecked[]
  readonly unclear: readonly Unclear[]
}

type Check = (dispenser: Dispenser, context: SetupContext) => unknown

const checks: Readonly<Record<string, Check>> = {
  acl: readAcl,
  any: checkAny,
  autopath: readAutopath,
  bind: checkBind,
  bufsize: checkBufsize,
  cache: readCache,
  debug: checkDebug,
  erratic: checkErratic,
  errors: checkErrors,
  file: readFiles,
  forward: readForwards,
  health: checkHealth,
  hosts: readHosts,
  kubernetes: readKubernetes,
  loadbalance: checkLoadbalance,
  local: checkLocal,
  log: checkLog,
  loop: checkLoop,
  minimal: checkBare,
  nsid: checkNsid,
  pprof: checkPprof,
  prometheus: checkPrometheus,
  ready: checkReady,
  reload: checkReload,
  rewrite: readRewriteRules,
  root: checkRoot,
  template: readTemplates,
  view: readView,
  whoami: checkBare,
}

/** Plugins whose arguments `checkSetup` looks at. */
export const checkedPlugins: readonly string[] = Object.keys(checks)

/** In: a block. Out: the zones of its keys, normalised, CIDR keys expanded. */
export function zonesOfBlock(block: ServerBlock): string[] {
  return block.keys.flatMap(zonesOfArgument)
}

/** In: a parsed file, one of its blocks, and what to call for things that cannot be judged. Out: what setup code is given. */
export function contextOf(
  parsed: ParsedCorefile,
  block: ServerBlock,
  unclear: SetupContext['unclear'] = () => {},
): SetupContext {
  return {version: parsed.version, zones: zonesOfBlock(block), root: block.tokens.get('root')?.[1]?.text ?? '', unclear}
}

/** In: a parsed file, tokens of one plugin of a block. Out: the cursor that its setup code walks. */
export function dispenserOf(parsed: ParsedCorefile, tokens: readonly Token[]): Dispenser {
  return new Dispenser(tokens, parsed.path)
}

/**
 * P3: the argument checks of the plugins known here, in CoreDNS' order: plugin list outside, blocks inside, so the
 * first error is the one a start reports. In: a file that parsed (P1). Out: errors in CoreDNS' own words, plugins that
 * were not looked at, and arguments that cannot be judged. Source: corefile.md 0, 5; setup.go of each plugin.
 */
export function checkSetup(parsed: ParsedCorefile): SetupReport {
  const errors: CorefileError[] = []
  const notChecked: NotChecked[] = []
  const unclear: Unclear[] = []
  for (const plugin of directivesOf(parsed.version)) {
    const check = checks[plugin]
    for (const block of parsed.blocks) {
      const tokens = block.tokens.get(plugin)
      const [head] = tokens ?? []
      if (tokens === undefined || head === undefined) continue
      if (check === undefined) {
        notChecked.push({plugin, block: block.index, file: head.file, line: head.line})
        continue
      }
      const context = contextOf(parsed, block, (what, line, file) => {
        unclear.push({plugin, block: block.index, file, line, what})
      })
      const error = runCheck(() => check(dispenserOf(parsed, tokens), context))
      if (error === undefined) continue
      errors.push({
        phase: 'setup',
        message: `plugin/${plugin}: ${error.message}`,
        file: error.file,
        line: error.line,
        block: block.index,
      })
    }
  }
  return {errors, notChecked, unclear}
}

function runCheck(check: () => unknown): SetupError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof SetupError) return error
    throw error
  }
}
