export type * from './types.ts'
export {
  atLeast,
  defaultVersion,
  directivesOf,
  formatVersion,
  parseVersion,
  pluginOrder,
  rewriteBeforeCache,
} from './directives.ts'
export {environmentNames, expandEnvironment} from './environment.ts'
export {lex} from './lexer.ts'
export {defaultPath, parseCorefile} from './parser.ts'
export {columnOf, compareBytewise} from './runes.ts'
export {sameLine} from './token-stream.ts'
export {bindAddresses, checkListeners, hasView, listenersOf} from './listeners.ts'
export {reloadHash, type ReloadHash} from './reload-hash.ts'
export {formatServedZone, inspectKeys, readServerKey, type InspectedKeys, type ServerKey} from './server-keys.ts'
export {answersByZone, BlockChooser, dnsPortOf} from './block-choice.ts'
export {applyEdits} from './edit/byte-edits.ts'
export {hairpinProxyComment, markerTexts} from './edit/markers.ts'
export {clusterZonesOf, hasReload, planEdit, planRemoval} from './edit/plan.ts'
export type * from './edit/request.ts'
export {isGlob, patternTakes} from './imports.ts'
export {hashOfParsed} from './reload-hash.ts'
export {
  checkSetup,
  checkedPlugins,
  zonesOfBlock,
  type NotChecked,
  type SetupReport,
  type Unclear,
} from './setup/check-setup.ts'
export type {MatchType, RewriteRule} from './setup/plugins/rewrite-rule.ts'
export {simulate, simulateBothOrders, simulateOn, type Query, type Simulation} from './simulate/simulate.ts'
export {
  compileServer,
  chooseListener,
  type CompiledServer,
  type ListenerChoice,
  type ZoneStep,
} from './simulate/server.ts'
export type {DnsMessage, DnsRecord, Question} from './simulate/message.ts'
export type {RuleTrace} from './simulate/trace.ts'
export type {Endpoint, LiveCluster, LiveService, ServicePort, World} from './simulate/world.ts'
export {compileRegex, type Regex, type RegexResult} from './simulate/re2/regex.ts'
export {checkLoadable, prepareHostAnswers} from './simulate/host-answers.ts'
export {explain} from './simulate/explain.ts'
export {
  podSearchPath,
  searchVariants,
  simulateSearch,
  type SearchPath,
  type SearchStep,
} from './simulate/search-path.ts'
export {shadowsOf, type Shadow} from './simulate/shadows.ts'
export {lint, lintRule, type LintFinding, type LintReport} from './lint/lint.ts'
export {lintRules, type LintId, type LintRule, type Severity} from './lint/rule-table.ts'
export type {LintOptions} from './lint/subject.ts'
