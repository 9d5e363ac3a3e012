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
