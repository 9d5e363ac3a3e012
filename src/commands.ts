import Help from './commands/help.ts'
import Proxy from './commands/proxy.ts'
import Run from './commands/run.ts'
import Version from './commands/version.ts'

/** Every command by id; oclif routes by this map (explicit discovery). Heavy parts are imported inside `run`. */
export const COMMANDS = {
  help: Help,
  proxy: Proxy,
  run: Run,
  version: Version,
}
