/** The test bed: real parts, started and ended by tests, the demo and the benches. */
export {cacheFolder, partPath, partPaths, requirePart, PREPARED, type Missing, type PartName} from './parts.ts'
export {API_SERVER_PARTS, startApiServer, type ApiServer, type User} from './api-server.ts'
