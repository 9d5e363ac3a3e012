import CorednsApply from './commands/coredns/apply.ts'
import CorednsClean from './commands/coredns/clean.ts'
import CorednsPlan from './commands/coredns/plan.ts'
import CorednsQuery from './commands/coredns/query.ts'
import CorednsShow from './commands/coredns/show.ts'
import Help from './commands/help.ts'
import Proxy from './commands/proxy.ts'
import Run from './commands/run.ts'
import Version from './commands/version.ts'

/** Every command by id; oclif routes by this map (explicit discovery). Heavy parts are imported inside `run`. */
export const COMMANDS = {
  'coredns:apply': CorednsApply,
  'coredns:clean': CorednsClean,
  'coredns:plan': CorednsPlan,
  'coredns:query': CorednsQuery,
  'coredns:show': CorednsShow,
  help: Help,
  proxy: Proxy,
  run: Run,
  version: Version,
}
