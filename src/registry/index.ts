/** The registry library: references, the OCI distribution client, copies, archives and verification. */
export {
  parseReference,
  parseTarget,
  formatReference,
  repositoryName,
  type Reference,
  type TargetPrefix,
} from './reference.ts'
export {digestOf, isDigest, parseDigest, ContentMismatch} from './digest.ts'
export {RegistryClient, type ClientEvent, type ClientOptions} from './client.ts'
export {openRegistryClient, type OpenOptions} from './open.ts'
export {Repository} from './repository.ts'
export {RegistryError} from './errors.ts'
export {readManifest, type Descriptor, type Manifest, type Platform} from './manifest.ts'
export {registrySource, type ContentSource} from './copy/source.ts'
export {CopyRun} from './copy/run.ts'
export {copyItems, type CopyReport} from './copy/copy.ts'
export type {CopyItem, CopyOptions, ItemResult} from './copy/item.ts'
export type {CopyEvent, CopyEventSink} from '../model/mirror-events.ts'
