export {jsonLog} from './log.ts'
export {ouroborosNotice, readOuroborosFlags} from './ouroboros-flags.ts'
export {parseProxyOptions, type ProxyFlags} from './parse-options.ts'
export {superviseProxy} from './supervise.ts'
