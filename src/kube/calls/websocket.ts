/** The WebSocket client, in a module of its own so that it can be loaded late: the bundler cannot hand out names of a CommonJS package. */
export {WebSocket} from 'ws'
