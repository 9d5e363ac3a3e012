export {jsonLog} from '../proxy/index.ts'
export {parseTrusted} from './options.ts'
export {WhoamiServer} from './server.ts'
