/** The yaml package behind one door: loaded lazily as a module of our own, since a bundle gives CommonJS no named exports otherwise. */
export {Document, isMap, isPair, isScalar, parse, parseAllDocuments, parseDocument, Scalar, stringify} from 'yaml'
