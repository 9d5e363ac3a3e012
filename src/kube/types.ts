import type {IncomingHttpHeaders} from 'node:http'
import type {Duplex, Readable} from 'node:stream'
import type {KubeObject} from '../model/kubernetes.ts'
import type {Clock} from './clock.ts'

/** kubectl's connection flags, by their usual names. A flag that was not given is absent or undefined. */
export interface KubeFlags {
  readonly kubeconfig?: string | undefined
  readonly context?: string | undefined
  readonly cluster?: string | undefined
  readonly user?: string | undefined
  readonly namespace?: string | undefined
  readonly server?: string | undefined
  readonly token?: string | undefined
  readonly username?: string | undefined
  readonly password?: string | undefined
  readonly clientCertificate?: string | undefined
  readonly clientKey?: string | undefined
  readonly as?: string | undefined
  readonly asGroup?: readonly string[] | undefined
  readonly asUid?: string | undefined
  readonly asUserExtra?: readonly string[] | undefined
  readonly certificateAuthority?: string | undefined
  readonly insecureSkipTlsVerify?: boolean | undefined
  readonly tlsServerName?: string | undefined
  readonly disableCompression?: boolean | undefined
  /** Go duration, or a bare number of seconds; 0 means no limit. */
  readonly requestTimeout?: string | undefined
}

/** Something that a kubeconfig names either inline or by file. Data wins over a file, as in client-go. */
export type Material = {readonly data: Buffer} | {readonly file: string}

/** One `users[].user.exec` entry, already checked; `command` is absolute or a bare name for PATH. */
export interface ExecConfig {
  readonly apiVersion: 'client.authentication.k8s.io/v1' | 'client.authentication.k8s.io/v1beta1'
  readonly command: string
  readonly args: readonly string[]
  readonly env: readonly {readonly name: string; readonly value: string}[]
  readonly installHint?: string
  readonly provideClusterInfo: boolean
  readonly interactiveMode: 'Never' | 'IfAvailable' | 'Always'
  /** `extensions["client.authentication.k8s.io/exec"]` of the cluster, passed through to the plugin. */
  readonly clusterExtension?: unknown
}

/** The old `auth-provider` entry (gcp, azure, oidc). Served by client-node, loaded only for this. */
export interface AuthProviderConfig {
  readonly name: string
  readonly config: Readonly<Record<string, unknown>>
}

/** Who we are to the API server. Several may be set; the order of client-go decides which is used. */
export interface UserConfig {
  readonly token?: string
  readonly tokenFile?: string
  readonly username?: string
  readonly password?: string
  readonly clientCertificate?: Material
  readonly clientKey?: Material
  readonly exec?: ExecConfig
  readonly authProvider?: AuthProviderConfig
}

/** Whom we act as (`--as`, `as` in the kubeconfig). */
export interface Impersonation {
  readonly user?: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra: Readonly<Record<string, readonly string[]>>
}

/** Where and as whom to connect. Plain data, no file has been read but the kubeconfigs; holds secrets: never print it. */
export interface ClusterConfig {
  /** `in-cluster`, or the kubeconfig paths, for messages. */
  readonly source: string
  readonly context?: string
  readonly clusterName?: string
  readonly userName?: string
  /** Flag, then context, then `default` (in a Pod: the service account's namespace). */
  readonly namespace: string
  /** Base URL, scheme http or https; may hold a path. */
  readonly server: string
  readonly certificateAuthority?: Material
  readonly insecureSkipTlsVerify: boolean
  readonly tlsServerName?: string
  readonly proxyUrl?: string
  readonly disableCompression: boolean
  readonly user: UserConfig
  readonly impersonate: Impersonation
  /** From `--request-timeout`; 0 means none; absent: the client's own limits. */
  readonly requestTimeoutMs?: number
}

/** One kind of the API, as its URLs need it. Constants for the kinds we use are in resources.ts. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  /** Plural, lower case, as in URLs. */
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
}

/** Selects one object. `namespace` is required for namespaced kinds. */
export interface ObjectKey {
  readonly namespace?: string | undefined
  readonly name: string
}

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for the whole call with its retries; 0 means none. Default: 15 s, a list page 60 s, or --request-timeout. */
  readonly timeoutMs?: number | undefined
}

export interface WriteOptions extends CallOptions {
  /** Default: `kubectl-srcip`. Always sent. */
  readonly fieldManager?: string | undefined
  /** `server` sends `dryRun=All`: everything is checked, nothing is stored. */
  readonly dryRun?: 'none' | 'server' | undefined
  /** `status`, `scale`. */
  readonly subresource?: string | undefined
}

export interface MergePatchOptions extends WriteOptions {
  /** Precondition: 409 when the object has moved on. Left out only for writes that may be last-writer-wins. */
  readonly resourceVersion?: string | undefined
  /** Precondition: the server answers 422 or 409 for another object of this name; both arrive as a conflict. */
  readonly uid?: string | undefined
}

export interface DeleteOptions extends CallOptions {
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' | undefined
  readonly gracePeriodSeconds?: number | undefined
  readonly dryRun?: 'none' | 'server' | undefined
}

export interface ListOptions extends CallOptions {
  /** Absent or undefined: all namespaces. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** Page size; default 500; 0: one unpaged answer. */
  readonly limit?: number | undefined
  /** Default: unset, which is a consistent read. */
  readonly resourceVersion?: string | undefined
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan' | undefined
}

/** One page of a list. `restarted` is set on the one full page that replaces all earlier ones after a 410 on `continue`. */
export interface ListPage<T> {
  readonly items: readonly T[]
  readonly resourceVersion: string
  readonly restarted: boolean
}

/** A whole list. */
export interface ListResult<T> {
  readonly items: readonly T[]
  readonly resourceVersion: string
}

export interface WatchOptions {
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  readonly resourceVersion?: string | undefined
  /** WatchList: the current objects come first, then a bookmark that says so (KEP-3157). */
  readonly sendInitialEvents?: boolean | undefined
  /** After this long the server ends the stream in good order. */
  readonly timeoutSeconds?: number | undefined
  /** Milliseconds until the response headers; default 90 s. */
  readonly headersTimeoutMs?: number | undefined
  /** Called when the response headers have come. */
  readonly onOpen?: (() => void) | undefined
  /** Called for each chunk of bytes: what an idle limit is re-armed by. */
  readonly onBytes?: (() => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** One line of a watch. `ERROR` carries a Status, which `watch` throws as a KubeFailure instead of yielding. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  readonly object: KubeObject
}

export interface LogOptions extends CallOptions {
  readonly container?: string | undefined
  readonly follow?: boolean | undefined
  readonly tailLines?: number | undefined
  readonly sinceSeconds?: number | undefined
  readonly limitBytes?: number | undefined
  readonly timestamps?: boolean | undefined
  readonly previous?: boolean | undefined
}

/** A question to the authorizer: may I? */
export interface AccessQuestion {
  readonly verb: string
  readonly resource: Resource
  readonly subresource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

/** What the API server serves. */
export interface Discovery {
  /** The served resource, or undefined; with several versions given, the first one served. */
  find(group: string, plural: string, versions?: readonly string[]): Resource | undefined
  /** Groups whose listing failed: what is missing there may still exist (an aggregated API that is down). */
  readonly incomplete: readonly string[]
}

export interface ServerVersion {
  readonly gitVersion: string
  readonly major: string
  readonly minor: string
}

/** A request below the typed calls, for paths that no method covers (metrics through the pod proxy, health). */
export interface RawRequest extends CallOptions {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path below the server URL, already escaped; begins with `/`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  readonly contentType?: string
  readonly accept?: string
  /** Bytes of the answer that are taken at most; default 64 MiB. */
  readonly maxBytes?: number
  /** What is asked for, for error messages: verb and object. */
  readonly about?: RequestSubject
}

/** What a request is about, so that an error can name it. */
export interface RequestSubject {
  readonly verb: string
  readonly resource?: Resource | undefined
  readonly subresource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
}

export interface RawResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Counters for metrics; called once for each HTTP exchange. */
export interface RequestObserver {
  /** `code` is the HTTP status, or `<error>` as client-go's metrics say. Seconds are wall time to the end of the headers. */
  onRequest?(info: {method: string; host: string; verb: string; code: string; seconds: number}): void
  onRetry?(info: {method: string; host: string; code: string}): void
}

/** A connection to one cluster as one identity. All methods reject with KubeFailure, which is a SrcipError with its exit code. */
export interface KubeClient {
  readonly config: ClusterConfig
  /** Sends one request; resolves for 2xx only. */
  request(request: RawRequest): Promise<RawResponse>
  /** As `request`, with the body as a stream; destroy it when done. */
  stream(request: RawRequest & {readonly headersTimeoutMs?: number}): Promise<Readable>

  get<T = KubeObject>(resource: Resource, key: ObjectKey, options?: CallOptions & {subresource?: string}): Promise<T>
  /** As `get`, with undefined for 404. */
  find<T = KubeObject>(resource: Resource, key: ObjectKey, options?: CallOptions): Promise<T | undefined>
  /** Pages of a consistent list; a page is fetched when it is asked for. */
  pages<T = KubeObject>(resource: Resource, options?: ListOptions): AsyncIterable<ListPage<T>>
  /** The pages put together. */
  list<T = KubeObject>(resource: Resource, options?: ListOptions): Promise<ListResult<T>>
  /** Events until the server ends the stream; throws a KubeFailure for anything else, also for an ERROR event. */
  watch(resource: Resource, options?: WatchOptions): AsyncIterable<WatchEvent>

  create<T = KubeObject>(resource: Resource, object: KubeObject, options?: WriteOptions): Promise<T>
  /** PUT; `metadata.resourceVersion` in the object is the precondition. */
  update<T = KubeObject>(resource: Resource, object: KubeObject, options?: WriteOptions): Promise<T>
  /** RFC 7396; resourceVersion and uid from the options go into the body as preconditions. */
  mergePatch<T = KubeObject>(resource: Resource, key: ObjectKey, patch: object, options?: MergePatchOptions): Promise<T>
  /** Server-side apply with force; the object needs apiVersion, kind and name. Only for what is wholly ours. */
  apply<T = KubeObject>(resource: Resource, object: KubeObject, options?: WriteOptions): Promise<T>
  /** Resolves true when deleted (or being deleted), false when it was not there. */
  delete(resource: Resource, key: ObjectKey, options?: DeleteOptions): Promise<boolean>

  /** The log as text, at most 16 MiB of it (use tailLines or limitBytes). */
  logs(pod: ObjectKey, options?: LogOptions): Promise<string>
  /** The log as a byte stream, for follow. */
  logStream(pod: ObjectKey, options?: LogOptions): Promise<Readable>
  /** One TCP connection to a port of a pod. No half-close: `end()` closes both ways, so read the answer first. */
  portForward(pod: ObjectKey, port: number, options?: CallOptions): Promise<Duplex>

  /** Served kinds; answers younger than `maxAgeMs` (default 5 s) are shared. */
  discover(options?: CallOptions & {maxAgeMs?: number}): Promise<Discovery>
  serverVersion(options?: CallOptions): Promise<ServerVersion>
  selfSubjectAccessReview(question: AccessQuestion, options?: CallOptions): Promise<{allowed: boolean; reason: string}>
  /** Closes idle connections: to be called when one was found dead, since the others most likely are, too. */
  dropIdleConnections(): void
  /** Ends all connections; calls under way fail with kind `aborted`. */
  close(): void
}

/** One logger for the whole process; fields never hold secrets. */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

/** What a client needs from the process around it; everything has a default that suits the command line. */
export interface ClientOptions {
  /** `kubectl-srcip/<version> (<os>/<arch>)`, in a Pod with the word `run` or `proxy` behind it. */
  readonly userAgent?: string
  /** A `Warning:` header of the API server, once for each text. */
  readonly onWarning?: (text: string) => void
  readonly observer?: RequestObserver
  readonly log?: Log
  /** HTTPS_PROXY, HTTP_PROXY, NO_PROXY, PATH for exec plugins. Default: process.env. */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly clock?: Clock
  readonly random?: () => number
  /** What an exec plugin may talk to; default: the process's own stdin and stderr. */
  readonly terminal?: {readonly stdinIsTty: boolean; readonly writeStderr?: (chunk: Buffer) => void}
  /** Requests that are sent at most, watches not counted; default 20 a second and 30 at once. */
  readonly rate?: {readonly perSecond: number; readonly burst: number} | 'unlimited'
}
