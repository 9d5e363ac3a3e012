/** The YAML parser, in a module of its own so that it can be loaded late: the bundler cannot hand out names of a CommonJS package. */
export {parseDocument} from 'yaml'
