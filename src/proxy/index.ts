export {jsonLog} from './log.ts'
export {parseProxyOptions, type ProxyFlags} from './parse-options.ts'
export {superviseProxy} from './supervise.ts'
