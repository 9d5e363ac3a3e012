import Help from './commands/help.ts'
import Version from './commands/version.ts'

/** Every command by id; oclif routes by this map (explicit discovery, style.md 2.3). Heavy parts are imported inside `run`. */
export const COMMANDS = {
  help: Help,
  version: Version,
}
