import Cleanup from './commands/cleanup.ts'
import Controller from './commands/controller.ts'
import CorednsAdopt from './commands/coredns/adopt.ts'
import CorednsApply from './commands/coredns/apply.ts'
import CorednsClean from './commands/coredns/clean.ts'
import CorednsLint from './commands/coredns/lint.ts'
import CorednsPlan from './commands/coredns/plan.ts'
import CorednsQuery from './commands/coredns/query.ts'
import CorednsShow from './commands/coredns/show.ts'
import Disable from './commands/disable.ts'
import Doctor from './commands/doctor.ts'
import Enable from './commands/enable.ts'
import Guard from './commands/guard.ts'
import Help from './commands/help.ts'
import LbRender from './commands/lb/render.ts'
import MirrorCopy from './commands/mirror/copy.ts'
import MirrorExport from './commands/mirror/export.ts'
import MirrorImport from './commands/mirror/import.ts'
import MirrorInspect from './commands/mirror/inspect.ts'
import MirrorNodeConfig from './commands/mirror/node-config.ts'
import MirrorPlan from './commands/mirror/plan.ts'
import MirrorValues from './commands/mirror/values.ts'
import MirrorVerify from './commands/mirror/verify.ts'
import Proxy from './commands/proxy.ts'
import Resume from './commands/resume.ts'
import Rollback from './commands/rollback.ts'
import Run from './commands/run.ts'
import Runs from './commands/runs.ts'
import Status from './commands/status.ts'
import Unlock from './commands/unlock.ts'
import VerifyInside from './commands/verify/inside.ts'
import VerifyOutside from './commands/verify/outside.ts'
import SnapshotCommand from './commands/snapshot.ts'
import Version from './commands/version.ts'
import Whoami from './commands/whoami.ts'

/** Every command by id; oclif routes by this map (explicit discovery). Heavy parts are imported inside `run`. */
export const COMMANDS = {
  cleanup: Cleanup,
  controller: Controller,
  'coredns:adopt': CorednsAdopt,
  'coredns:apply': CorednsApply,
  'coredns:clean': CorednsClean,
  'coredns:lint': CorednsLint,
  'coredns:plan': CorednsPlan,
  'coredns:query': CorednsQuery,
  'coredns:show': CorednsShow,
  disable: Disable,
  doctor: Doctor,
  enable: Enable,
  guard: Guard,
  help: Help,
  'lb:render': LbRender,
  'mirror:copy': MirrorCopy,
  'mirror:export': MirrorExport,
  'mirror:import': MirrorImport,
  'mirror:inspect': MirrorInspect,
  'mirror:node-config': MirrorNodeConfig,
  'mirror:plan': MirrorPlan,
  'mirror:values': MirrorValues,
  'mirror:verify': MirrorVerify,
  proxy: Proxy,
  resume: Resume,
  rollback: Rollback,
  run: Run,
  runs: Runs,
  unlock: Unlock,
  status: Status,
  'verify:inside': VerifyInside,
  'verify:outside': VerifyOutside,
  snapshot: SnapshotCommand,
  version: Version,
  whoami: Whoami,
}
