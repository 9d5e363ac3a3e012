/** `kubectl srcip proxy` from the sources, for tests that need it as a process of its own. */
import {fileURLToPath} from 'node:url'
import Proxy from '../../src/commands/proxy.ts'

await Proxy.run(process.argv.slice(2), fileURLToPath(new URL('../..', import.meta.url)))
