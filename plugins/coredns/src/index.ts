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
