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
